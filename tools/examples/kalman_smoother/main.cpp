// A Kalman smoother as an application of the public C++ interface: real data in, smoothed states and a picture out.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>

#include "model.hpp"
#include "picture.hpp"

namespace {

using namespace kalman;

struct Options {
    std::string data = "tools/examples/kalman_smoother/data/us-macro-1959-2009.csv", output = "out/demo", device = "auto",
                schedule = "auto";
    int workers = 1;
};

void write_file(const std::filesystem::path& path, const std::string& text) {
    std::ofstream file(path, std::ios::binary);
    file << text;
    file.close();
    if (!file) throw std::runtime_error(fmt::format("cannot write '{}'", path.string()));
}

/// One row a quarter: level and slope of each series with their standard deviations, in units of the state.
std::string states_csv(const Table& table, const std::vector<Series>& series, const Smoothed& smoothed) {
    std::string text = "year,quarter";
    for (const auto& one : series) text += fmt::format(",{0}_level,{0}_level_sd,{0}_slope,{0}_slope_sd", one.column);
    for (std::size_t t = 0; t < table.year.size(); ++t) {
        text += fmt::format("\n{},{}", table.year[t], table.quarter[t]);
        for (Eigen::Index state = 0; state < smoothed.mean.rows(); ++state) {
            const auto time = static_cast<Eigen::Index>(t);
            text += fmt::format(",{:.10g},{:.6g}", smoothed.mean(state, time), smoothed.deviation(state, time));
        }
    }
    return text + "\n";
}

/// Median of a few runs, in microseconds.
double microseconds(const std::function<void()>& run) {
    std::vector<double> times;
    for (int k = 0; k < 21; ++k) {
        const auto start = std::chrono::steady_clock::now();
        run();
        times.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
    }
    std::ranges::nth_element(times, times.begin() + 10);
    return times[10];
}

void print_report(const NormalEquations& equations, const trifold::Plan& plan, trifold::Solver& solver, const Smoothed& smoothed) {
    const auto row = [](std::string_view name, const std::string& value) { fmt::print("  {:<18}{}\n", name, value); };
    const auto& report = plan.report();
    const auto& kernels = plan.report().kernels;
    std::vector<double> x(equations.b.size()), covariance(equations.d.size()), neighbours(equations.e.size());
    const auto solve = microseconds([&] { solver.factor_solve<double>(equations.d, equations.e, equations.b, x); });
    const auto inverse = microseconds([&] { solver.selected_inverse<double>(covariance, neighbours); });

    fmt::print("Kalman smoother, {} series, {} quarters\n", equations.states / 2, equations.horizon);
    row("problem", fmt::format("{} blocks of {} by {}, f64", equations.horizon, equations.states, equations.states));
    row("device", plan.device().name());
    row("schedule", plan.choice().schedule.name);
    row("kernels", fmt::format("{}, such as {}", kernels.size(), kernels.front().kernel));
    row("compiler", report.compiler);
    row("binary", report.cache_hit ? "from the cache" : "compiled");
    row("prepare", fmt::format("generate {:.1f} ms, compile {:.1f} ms, load {:.1f} ms", 1e3 * report.generate_seconds,
                               1e3 * report.compile_seconds, 1e3 * report.load_seconds));
    row("factor and solve", fmt::format("{:.0f} us", solve));
    row("variances", fmt::format("{:.0f} us (selected inverse)", inverse));
    row("residual", fmt::format("{:.1e}", smoothed.relative_residual));
    row("log-likelihood", fmt::format("{:.4f}", smoothed.log_likelihood));
}

void run(const Options& options) {
    const auto& series = macro_series();
    const auto table = read_table(options.data, series);
    const auto equations = normal_equations(local_linear_trend(series, table.values), table.values, line_start(table.values));

    const trifold::Plan plan(spec_of(equations), trifold::Device::parse(options.device),
                             {.schedule = options.schedule, .workers = options.workers});
    trifold::Solver solver(plan);
    const auto smoothed = smooth(equations, solver);

    const std::filesystem::path folder(options.output);
    std::filesystem::create_directories(folder);
    write_file(folder / "states.csv", states_csv(table, series, smoothed));
    write_file(folder / "trends.svg", draw_trends(table, series, smoothed));
    print_report(equations, plan, solver, smoothed);
    fmt::print("  {:<18}{}\n  {:<18}{}\n", "states", (folder / "states.csv").string(), "picture", (folder / "trends.svg").string());
}

}  // namespace

int main(int argc, char** argv) {
    Options options;
    CLI::App app{"Smooths twelve macroeconomic series with a generated solver"};
    app.add_option("--data", options.data, "the series, as CSV")->capture_default_str();
    app.add_option("--output", options.output, "folder for states.csv and trends.svg")->capture_default_str();
    app.add_option("--device", options.device, "auto, cpu, cuda or cuda:1")->capture_default_str();
    app.add_option("--schedule", options.schedule, "auto or a schedule's name")->capture_default_str();
    app.add_option("--workers", options.workers, "CPU threads")->capture_default_str();
    CLI11_PARSE(app, argc, argv);
    try {
        run(options);
        return 0;
    } catch (const trifold::Unsolvable& error) {
        std::fprintf(stderr, "kalman_smoother: %s\n", error.what());
        return 1;
    } catch (const trifold::DeviceError& error) {
        std::fprintf(stderr, "kalman_smoother: %s\n", error.what());
        return 3;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "kalman_smoother: %s\n", error.what());
        return 2;
    }
}
