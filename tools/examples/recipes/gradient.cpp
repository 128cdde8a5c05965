#include <array>
#include <cstdio>
#include <trifold/trifold.hpp>
#include <vector>

constexpr std::size_t n = 2, N = 5;

// A(t): D_i = [5 + t^2, t; t, 4 + i] and E_i = [-t, 0.5; 0, -1], row-major. Of D the lower triangle is read: t stands in it once.
struct System {
    explicit System(double t) {
        for (std::size_t i = 0; i < N; ++i) D.insert(D.end(), {5 + t * t, 0, t, 4.0 + static_cast<double>(i)});
        for (std::size_t i = 0; i + 1 < N; ++i) E.insert(E.end(), {-t, 0.5, 0, -1});
    }
    std::vector<double> D, E;
};

int main() {
    const trifold::Spec spec{
        .block = n, .horizon = N, .operations = trifold::all_operations()};  // the selected inverse has to be asked for
    trifold::Solver solver{trifold::Plan{spec, trifold::Device::parse("auto")}};
    const auto log_determinant = [&](double t) {
        const System a{t};
        solver.factor(a.D, a.E);
        solver.check();
        return solver.log_determinant()[0];
    };
    const double t = 0.7, step = 1e-5;
    const double differences = (log_determinant(t + step) - log_determinant(t - step)) / (2 * step);

    log_determinant(t);
    std::array<double, N * n * n> S{};        // S_ii, the diagonal blocks of A^-1
    std::array<double, (N - 1) * n * n> T{};  // S_{i+1,i}, those below them
    solver.selected_inverse(S, T);
    double gradient = 0;
    for (std::size_t i = 0; i < N; ++i) {
        gradient += S[i * n * n] * 2 * t;                  // on the diagonal an entry counts once
        gradient += 2 * S[i * n * n + n];                  // below it twice, for the one above has the same number
        if (i + 1 < N) gradient += 2 * T[i * n * n] * -1;  // E_i stands in A twice as well
    }
    std::printf("d log det A / dt: %.6f, by differences %.6f\n", gradient, differences);
}
