/// Times images on this processor: numeric factorization and solution, ours and, where this was built with SuiteSparse, those of UMFPACK
/// and CHOLMOD. Both are under the GPL, so they are part of this program alone. Their BLAS takes its threads from OPENBLAS_NUM_THREADS.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <trifold/grid.hpp>

#include "tools/bench/suitesparse.hpp"
#include "tools/problems/grid.hpp"

namespace trifold::bench {
namespace {

struct GridBenchOptions {
    std::int64_t width = 513, height = 513;
    std::string general = "grid-convection", symmetric = "grid-anisotropic";
    int workers = 2, repeats = 5;
};

double least_seconds(int repeats, auto&& work) {
    double least = 1e300;
    for (int k = 0; k < repeats; ++k) {
        const auto start = std::chrono::steady_clock::now();
        work();
        least = std::min(least, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    return least;
}

void print_row(std::string_view name, double factor, double solve, double residual) {
    fmt::print("{:28} {:10.1f} {:10.1f} {:12.1e}\n", name, factor * 1e3, solve * 1e3, residual);
}

template <class Real>
void time_ours(const formats::GridSystem& system, GridMatrix matrix, const GridBenchOptions& options) {
    GridSpec spec{.width = system.width, .height = system.height};
    spec.precision = sizeof(Real) == sizeof(float) ? Precision::f32 : Precision::f64;
    spec.matrix = matrix;
    const GridPlan plan(spec, Device::cpu(), {.workers = options.workers});
    GridSolver solver(plan);
    const std::vector<Real> stencil(system.stencil.begin(), system.stencil.end()), b(system.b.begin(), system.b.end());
    std::vector<Real> x(b.size());
    const auto factor = least_seconds(options.repeats, [&] { solver.factor(stencil); });
    const auto solve = least_seconds(options.repeats, [&] { solver.solve(b, x); });
    solver.check();
    const std::vector<double> wide(x.begin(), x.end());
    print_row(fmt::format("Trifold, {}, {}", to_string(matrix), to_string(spec.precision)), factor, solve,
              formats::relative_residuals(system, spec, wide)[0]);
}

void time_theirs(const formats::GridSystem& system, GridMatrix matrix, const GridBenchOptions& options) {
    const auto a = formats::to_sparse(system);
    for (auto& rival : suitesparse_rivals(a, matrix == GridMatrix::symmetric)) {
        std::vector<double> x;
        const auto factor = least_seconds(options.repeats, rival.factor);
        const auto solve = least_seconds(options.repeats, [&] { x = rival.solve(system.b); });
        print_row(rival.name, factor, solve, formats::relative_residuals(system, {.matrix = matrix}, x)[0]);
    }
}

int run(const GridBenchOptions& options) {
    const auto make = [&](const std::string& name) { return problems::make_grid(name, options.width, options.height, 1, 1, 1); };
    fmt::print("{}x{} pixels, {} threads, least of {} times\n{:28} {:>10} {:>10} {:>12}\n", options.width, options.height, options.workers,
               options.repeats, "", "factor, ms", "solve, ms", "residual");
    const auto general = make(options.general), symmetric = make(options.symmetric);
    time_ours<double>(general, GridMatrix::general, options);
    time_ours<float>(general, GridMatrix::general, options);
    time_theirs(general, GridMatrix::general, options);
    time_ours<double>(symmetric, GridMatrix::symmetric, options);
    time_theirs(symmetric, GridMatrix::symmetric, options);
    return 0;
}

}  // namespace
}  // namespace trifold::bench

int main(int argc, char** argv) {
    using namespace trifold;
    CLI::App app{"Times images on this processor, beside SuiteSparse where this was built with it", "bench_grid"};
    bench::GridBenchOptions options;
    app.add_option("--width", options.width, "Pixels of a row")->capture_default_str();
    app.add_option("--height", options.height, "Rows")->capture_default_str();
    app.add_option("--general", options.general, "The problem with a general matrix")->capture_default_str();
    app.add_option("--symmetric", options.symmetric, "The problem with a positive definite one")->capture_default_str();
    app.add_option("--workers", options.workers, "Threads of Trifold")->capture_default_str();
    app.add_option("--repeats", options.repeats, "Times that each is measured")->capture_default_str();
    CLI11_PARSE(app, argc, argv);
    try {
        return bench::run(options);
    } catch (const std::exception& error) {
        fmt::print(stderr, "bench_grid: {}\n", error.what());
        return 2;
    }
}
