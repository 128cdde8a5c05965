#include <cstdio>
#include <trifold/trifold.hpp>
#include <vector>

int main() {
    // A is tridiagonal of order 11, 4 on the diagonal and -1 next to it: three blocks of 3 by 3 and a last one of 2 by 2.
    const std::size_t n = 3, N = 4, order = 11;
    std::vector<double> D(N * n * n), E((N - 1) * n * n), B(N * n), X(N * n);  // zeros
    for (std::size_t k = 0; k < N * n; ++k) {
        const std::size_t i = k / n, r = k % n;
        D[(i * n + r) * n + r] = k < order ? 4 : 1;  // the padding has ones on the diagonal, and zeros in E and B
        if (k == 0 || k >= order) continue;
        if (r > 0)
            D[(i * n + r) * n + r - 1] = -1;
        else
            E[(i - 1) * n * n + n - 1] = -1;  // row 0, last column: the block's first row and the last one of the block before
    }
    for (std::size_t k = 0; k < order; ++k) B[k] = k == 0 || k == order - 1 ? 3 : 2;  // sums of rows: x is all ones

    trifold::Solver solver{trifold::Plan{{.block = n, .horizon = N}, trifold::Device::parse("auto")}};
    solver.factor_solve(D, E, B, X);
    solver.check();
    std::printf("x = %.6f ... %.6f, padding %g, log det A: %.6f\n", X[0], X[order - 1], X[order], solver.log_determinant()[0]);
}
