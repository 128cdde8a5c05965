#include <cstdio>
#include <trifold/trifold.hpp>
#include <vector>

int main() {
    // A is tridiagonal of order 11, 4 on the diagonal and -1 next to it: three blocks of 3 by 3 and a last one of 2 by 2.
    const std::size_t n = 3, N = 4, order = 11;
    std::vector<double> D(N * n * n), E((N - 1) * n * n), B(N * n), X(N * n);  // zeros
    for (std::size_t k = 0; k < order; ++k) {
        const std::size_t i = k / n, r = k % n;
        D[(i * n + r) * n + r] = 4;
        B[k] = k == 0 || k == order - 1 ? 3 : 2;  // sums of rows: x is all ones
        if (r > 0)
            D[(i * n + r) * n + r - 1] = -1;
        else if (k > 0)
            E[(i - 1) * n * n + n - 1] = -1;  // row 0, last column: the block's first row and the last one of the block before
    }

    const std::vector<int> sizes{3, 3, 3, 2};
    trifold::Solver solver{trifold::Plan{{.block = n, .horizon = N, .sizes = true}, trifold::Device::parse("auto")}};
    solver.factor_solve(D, E, B, X, {.sizes = sizes.data()});
    solver.check();
    std::printf("x = %.6f ... %.6f, beyond %g, log det A: %.6f\n", X[0], X[order - 1], X[order], solver.log_determinant()[0]);
}
