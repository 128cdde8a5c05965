// Nanoseconds a right-hand side, for 1 to 1000 of them at once: block tridiagonal systems, or images.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <random>
#include <trifold/trifold.hpp>

using namespace trifold;

namespace {

struct Options {
    std::vector<std::string> sizes{"201x20", "100x8", "50x12", "64x32", "32x64"};
    std::vector<std::int64_t> columns{1, 2, 4, 8, 16, 64, 1000};
    std::string precision = "f64", schedule = "auto", variant = "auto", device = "cpu", layout = "staged";
    std::int64_t batch = 1, rhs = 0;
    int workers = 1;
    double seconds = 0.2;
    bool images = false;
};

/// The least time of a call, once it is warm.
double seconds_of(const std::function<void()>& call, double budget) {
    const auto now = [] { return std::chrono::steady_clock::now(); };
    call();
    double least = 1e9;
    for (const auto end = now() + std::chrono::duration<double>(budget); now() < end;) {
        const auto start = now();
        call();
        least = std::min(least, std::chrono::duration<double>(now() - start).count());
    }
    return least;
}

std::vector<std::int64_t> numbers_of(const std::string& size) {
    const auto times = size.find('x');
    return {std::stoll(size.substr(0, times)), std::stoll(size.substr(times + 1))};
}

template <class Real>
std::vector<Real> random(std::int64_t count) {
    std::mt19937 engine(7);
    std::uniform_real_distribution<Real> uniform(-1, 1);
    std::vector<Real> result(static_cast<std::size_t>(count));
    std::ranges::generate(result, [&] { return uniform(engine); });
    return result;
}

using Calls = std::vector<std::pair<const char*, std::function<void()>>>;

void report(const std::string& size, std::int64_t columns, std::int64_t systems, const Options& options, const Calls& calls) {
    fmt::print("{:>8} {:>5}", size, columns);
    for (const auto& [name, call] : calls)
        fmt::print("  {} {:8.0f}", name, seconds_of(call, options.seconds) * 1e9 / static_cast<double>(columns * systems));
    fmt::print("\n");
    std::fflush(stdout);
}

template <class Real>
void blocks(const Options& options, const std::string& size, std::int64_t columns) {
    const auto sides = numbers_of(size);
    const auto horizon = sides[0], n = sides[1];
    Spec spec{.block = n, .horizon = horizon, .precision = sizeof(Real) == 4 ? Precision::f32 : Precision::f64};
    if (options.precision == "mixed") spec.precision = Precision::mixed;
    spec.rhs = options.rhs > 0 ? options.rhs : columns;
    spec.batch = options.batch;
    if (options.layout == "stacked") spec.rhs_layout = RhsLayout::stacked;
    auto d = random<Real>(options.batch * horizon * n * n);
    for (std::int64_t k = 0; k < options.batch * horizon; ++k)
        for (std::int64_t r = 0; r < n; ++r) d[static_cast<std::size_t>((k * n + r) * n + r)] += static_cast<Real>(4 * n);
    const auto e = random<Real>(options.batch * (horizon - 1) * n * n), b = random<Real>(options.batch * horizon * n * columns);
    auto x = b;
    const Plan plan(spec, Device::parse(options.device),
                    {.schedule = options.schedule, .variant = options.variant, .workers = options.workers});
    Solver solver(plan);
    FactorOptions<Real> with;
    with.columns = columns;
    const SweepOptions sweep{.columns = columns};
    const auto sweeps = [&](auto function) { return [&, function] { (solver.*function)(b.data(), x.data(), {}, sweep); }; };
    Calls calls{{"factor_solve", [&] { solver.factor_solve<Real>(d.data(), e.data(), b.data(), x.data(), {}, with); }}};
    using Sweep = void (Solver::*)(const Real*, Real*, Stream, const SweepOptions&);
    calls.emplace_back("solve", sweeps(static_cast<Sweep>(&Solver::solve<Real>)));
    if (options.precision != "mixed") {
        calls.emplace_back("forward", sweeps(static_cast<Sweep>(&Solver::forward<Real>)));
        calls.emplace_back("backward", sweeps(static_cast<Sweep>(&Solver::backward<Real>)));
    }
    report(size, columns, options.batch, options, calls);
}

template <class Real>
void image(const Options& options, const std::string& size, std::int64_t columns) {
    const auto sides = numbers_of(size);
    const auto pixels = sides[0] * sides[1];
    GridSpec spec{.width = sides[0], .height = sides[1], .precision = sizeof(Real) == 4 ? Precision::f32 : Precision::f64};
    spec.rhs = options.rhs > 0 ? options.rhs : columns;
    auto stencil = std::vector<Real>(static_cast<std::size_t>(pixels * 9), Real{0});
    for (std::int64_t y = 0; y < sides[1]; ++y)
        for (std::int64_t x = 0; x < sides[0]; ++x)
            for (std::int64_t k = 0; k < 9; ++k) {
                const auto to_x = x + k % 3 - 1, to_y = y + k / 3 - 1;
                if (to_x >= 0 && to_x < sides[0] && to_y >= 0 && to_y < sides[1])
                    stencil[static_cast<std::size_t>((y * sides[0] + x) * 9 + k)] = k == 4 ? Real{9} : Real{-1};
            }
    const auto b = random<Real>(pixels * columns);
    auto x = b;
    const GridPlan plan(spec, Device::parse(options.device), {.workers = options.workers});
    GridSolver solver(plan);
    solver.factor<Real>(stencil.data());
    const GridOptions with{.columns = columns};
    report(size, columns, 1, options,
           {{"factor_solve", [&] { solver.factor_solve<Real>(stencil.data(), b.data(), x.data(), {}, with); }},
            {"solve", [&] { solver.solve<Real>(b.data(), x.data(), {}, with); }}});
}

}  // namespace

int main(int argc, char** argv) {
    Options options;
    CLI::App app{"Nanoseconds a right-hand side"};
    app.add_option("sizes", options.sizes, "NxBLOCK, or WIDTHxHEIGHT with --images")->delimiter(',');
    app.add_option("--columns", options.columns, "right-hand sides of a call")->delimiter(',');
    app.add_option("--rhs", options.rhs, "the Spec's rhs; 0: those of the call");
    app.add_option("--batch", options.batch);
    app.add_option("--workers", options.workers);
    app.add_option("--precision", options.precision, "f64, f32 or mixed");
    app.add_option("--schedule", options.schedule);
    app.add_option("--variant", options.variant);
    app.add_option("--device", options.device);
    app.add_option("--layout", options.layout, "staged or stacked");
    app.add_option("--seconds", options.seconds, "for each number");
    app.add_flag("--images", options.images);
    CLI11_PARSE(app, argc, argv);
    const bool is_f32 = options.precision == "f32";
    const auto run = options.images ? (is_f32 ? image<float> : image<double>) : is_f32 ? blocks<float> : blocks<double>;
    for (const auto& size : options.sizes)
        for (const auto columns : options.columns) run(options, size, columns);
}
