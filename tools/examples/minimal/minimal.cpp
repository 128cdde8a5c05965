#include <cstdio>
#include <trifold/trifold.hpp>
#include <vector>

int main() {
    const std::size_t n = 3, N = 1000;  // A has N diagonal blocks of n by n: 4 on the diagonal, -1 from block to block
    std::vector<double> D(N * n * n), E((N - 1) * n * n), B(N * n, 1.0), X(N * n);
    for (std::size_t i = 0; i < N; ++i) {
        for (std::size_t r = 0; r < n; ++r) {
            D[(i * n + r) * n + r] = 4;
            if (i + 1 < N) E[(i * n + r) * n + r] = -1;
        }
    }
    const trifold::Spec spec{.block = n, .horizon = N, .precision = trifold::Precision::f64, .rhs = 1};
    const trifold::Plan plan{spec, trifold::Device::parse("auto")};  // generated, and compiled or loaded from the cache
    trifold::Solver solver{plan};                                    // workspace and graphs; its calls allocate nothing
    solver.factor_solve(D, E, B, X);
    solver.check();  // throws Unsolvable
    std::printf("x in the middle: %.6f, log det A: %.3f\n", X[N * n / 2], solver.log_determinant()[0]);
}
