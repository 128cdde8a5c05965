// The CPU backend against the same sweep written with OpenBLAS calls, against itself on two threads, and batched.
#include <fmt/format.h>
#include <time.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>

#include "runtime/trifold.hpp"
#include "tools/bench/openblas_sweep.hpp"

using namespace trifold;

namespace {

struct Options {
    std::vector<std::int64_t> blocks{4, 8, 12, 16, 20, 24, 32, 48, 64, 96, 128};
    std::int64_t horizon = 128, batch = 0;
    std::string order = "column", schedule = "auto", variant = "auto", json;
    int threads = 1;
    double seconds = 1;
};

double clock_seconds(clockid_t clock) {
    timespec t{};
    clock_gettime(clock, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

/// A is symmetric with a dominant diagonal, so its blocks read the same in both orders; E does not, and the residual takes it in the order
/// it was solved in.
struct Problem {
    Problem(const Options& options, std::int64_t block)
        : n(block), horizon(options.horizon), members(std::max<std::int64_t>(options.batch, 1)) {
        std::mt19937_64 engine(std::random_device{}());
        std::uniform_real_distribution<double> uniform(-1, 1);
        d.resize(size(members * horizon * n * n)), e.resize(d.size()), b.resize(size(members * horizon * n)), x.resize(b.size());
        for (auto* array : {&e, &b}) std::ranges::generate(*array, [&] { return uniform(engine); });
        for (std::int64_t i = 0; i < members * horizon; ++i)
            for (std::int64_t r = 0; r < n; ++r)
                for (std::int64_t c = 0; c <= r; ++c)
                    d[size((i * n + r) * n + c)] = d[size((i * n + c) * n + r)] =
                        uniform(engine) + (r == c ? 4.0 * static_cast<double>(n) : 0.0);
    }
    static std::size_t size(std::int64_t count) { return static_cast<std::size_t>(count); }

    /// ||A x - b|| / (||A|| ||x|| + ||b||), infinity norms, the worst member.
    double residual(bool column_major) const {
        double worst = 0;
        const auto rows = horizon * n, stages = horizon - 1;
        for (std::int64_t m = 0; m < members; ++m) {
            std::vector<double> r(b.begin() + m * rows, b.begin() + (m + 1) * rows), sums(size(rows));
            const auto add = [&](std::int64_t row, std::int64_t column, double a) {
                r[size(row)] -= a * x[size(m * rows + column)];
                sums[size(row)] += std::fabs(a);
            };
            for (std::int64_t i = 0; i < horizon; ++i)
                for (std::int64_t p = 0; p < n; ++p)
                    for (std::int64_t q = 0; q < n; ++q) {
                        add(i * n + p, i * n + q, d[size(((m * horizon + i) * n + p) * n + q)]);
                        if (i == stages) continue;
                        const auto a = e[size(((m * stages + i) * n + p) * n + q)];
                        const auto row = (i + 1) * n + (column_major ? q : p), column = i * n + (column_major ? p : q);
                        add(row, column, a), add(column, row, a);
                    }
            const auto norm = [](const auto* first, std::int64_t count) {
                double most = 0;
                for (std::int64_t k = 0; k < count; ++k) most = std::max(most, std::fabs(first[k]));
                return most;
            };
            worst = std::max(worst, norm(r.data(), rows) /
                                        (norm(sums.data(), rows) * norm(x.data() + m * rows, rows) + norm(b.data() + m * rows, rows)));
        }
        return worst;
    }

    std::int64_t n, horizon, members;
    std::vector<double> d, e, b, x;
};

Spec make_spec(const Options& options, std::int64_t n, std::int64_t batch) {
    Spec spec{.block = n, .horizon = options.horizon, .batch = batch};
    spec.order = options.order == "row" ? Order::row_major : Order::column_major;
    return spec;
}

/// One contender: two operations and their times, the least and the median.
struct Contender {
    std::function<void()> factor, factor_solve;
    std::vector<double> factor_times, factor_solve_times;
};

/// Rounds of every contender in turn, so that what disturbs one disturbs all. Each works for a millisecond before its times count: while
/// the others run its data leave the caches and its threads go to sleep, which in a steady loop of calls they do not.
void race(std::vector<Contender>& contenders, double seconds, clockid_t clock) {
    const auto time = [&](const std::function<void()>& work, int repeats) {
        const auto start = clock_seconds(clock);
        for (int k = 0; k < repeats; ++k) work();
        return (clock_seconds(clock) - start) / repeats;
    };
    const auto once = time(contenders[0].factor, 3);
    const int repeats = std::max(1, static_cast<int>(3e-4 / once));
    const auto end = clock_seconds(CLOCK_MONOTONIC) + seconds;
    for (int round = 0; round < 15 || clock_seconds(CLOCK_MONOTONIC) < end; ++round)
        for (auto& contender : contenders) {
            const auto awake = clock_seconds(CLOCK_MONOTONIC) + 1e-3;
            while (clock_seconds(CLOCK_MONOTONIC) < awake) contender.factor();
            contender.factor_times.push_back(time(contender.factor, repeats));
            contender.factor_solve_times.push_back(time(contender.factor_solve, repeats));
        }
}

double least(const std::vector<double>& times) { return *std::ranges::min_element(times); }
double median(std::vector<double> times) {
    std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
    return times[times.size() / 2];
}

Contender ours(Solver& solver, Problem& problem) {
    return {[&] { solver.factor(problem.d.data(), problem.e.data()); },
            [&] { solver.factor_solve(problem.d.data(), problem.e.data(), problem.b.data(), problem.x.data()); },
            {},
            {}};
}

/// The rival is OpenBLAS, or one thread where we have several, or one system at a time where we have a batch.
nlohmann::json measure(const Options& options, std::int64_t n) {
    Problem problem(options, n);
    const Plan plan(make_spec(options, n, problem.members), Device::cpu(), {options.schedule, options.variant, options.threads});
    Solver solver(plan);
    std::vector<Contender> contenders{ours(solver, problem)};
    const Plan single(make_spec(options, n, 1), Device::cpu(), {"auto", "auto", 1});
    Solver alone(single);
    bench::OpenblasSweep sweep(n, options.horizon);
    std::vector<double> rival_x(problem.x.size());
    const auto each = [&, rows = options.horizon * n](const auto& work) {
        for (std::int64_t m = 0; m < problem.members; ++m)
            work(problem.d.data() + m * rows * n, problem.e.data() + m * (options.horizon - 1) * n * n, problem.b.data() + m * rows,
                 rival_x.data() + m * rows);
    };
    if (options.threads > 1 || options.batch > 0) {
        contenders.push_back({[&] { each([&](auto* d, auto* e, auto*, auto*) { alone.factor(d, e); }); },
                              [&] { each([&](auto* d, auto* e, auto* b, auto* x) { alone.factor_solve(d, e, b, x); }); },
                              {},
                              {}});
    } else {
        contenders.push_back({[&] { sweep.factor(problem.d, problem.e); },
                              [&] {
                                  sweep.factor(problem.d, problem.e);
                                  sweep.solve(problem.b, rival_x);
                              },
                              {},
                              {}});
    }
    // On one thread its own clock keeps most of what else runs here out of the times.
    race(contenders, options.seconds, options.threads > 1 ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID);
    solver.check();
    const auto factor = least(contenders[0].factor_times), both = least(contenders[0].factor_solve_times);
    return {
        {"block", n},
        {"horizon", options.horizon},
        {"batch", problem.members},
        {"threads", options.threads},
        {"schedule", plan.program().schedule.name},
        {"variant", plan.program().variant.name},
        {"factor_seconds", factor},
        {"factor_solve_seconds", both},
        {"rival_factor_seconds", least(contenders[1].factor_times)},
        {"rival_factor_solve_seconds", least(contenders[1].factor_solve_times)},
        {"factor_ratio", least(contenders[1].factor_times) / factor},
        {"factor_solve_ratio", least(contenders[1].factor_solve_times) / both},
        {"median_factor_ratio", median(contenders[1].factor_times) / median(contenders[0].factor_times)},
        {"median_factor_solve_ratio", median(contenders[1].factor_solve_times) / median(contenders[0].factor_solve_times)},
        {"gflops", 7.0 / 3 * std::pow(static_cast<double>(n), 3) * static_cast<double>(options.horizon * problem.members) / factor * 1e-9},
        {"relative_residual", problem.residual(options.order == "column")}};
}

}  // namespace

int main(int argc, char** argv) try {
    Options options;
    CLI::App app{
        "Times the CPU backend: against OpenBLAS; with --threads 2 against one thread; with --batch B against one system at a time."};
    app.add_option("--block", options.blocks, "block sizes")->delimiter(',');
    app.add_option("--horizon", options.horizon, "blocks on the diagonal")->check(CLI::PositiveNumber);
    app.add_option("--batch", options.batch, "systems solved together")->check(CLI::PositiveNumber);
    app.add_option("--threads", options.threads, "workers")->check(CLI::PositiveNumber);
    app.add_option("--order", options.order, "storage of D and E")->check(CLI::IsMember({"row", "column"}));
    app.add_option("--schedule", options.schedule, "see trifold --help");
    app.add_option("--variant", options.variant, "of the kernels");
    app.add_option("--seconds", options.seconds, "spent on one block size");
    app.add_option("--json", options.json, "write the results to this file");
    CLI11_PARSE(app, argc, argv);
    const bool against_blas = options.threads == 1 && options.batch == 0;
    fmt::print("{}, rival: {}; microseconds, the least of interleaved rounds; ratios of these and of the medians\n", Device::cpu().name(),
               against_blas          ? "OpenBLAS sweep, " + bench::OpenblasSweep::core() + " kernels"
               : options.threads > 1 ? "one thread"
                                     : "one system at a time");
    fmt::print("{:>5} {:>11} {:>11} {:>11} {:>11} {:>6} {:>6} {:>7} {:>7} {:>7} {:>9}  {}\n", "n", "factor", "rival", "fact+solve", "rival",
               "factor", "both", "med", "med", "GFLOP/s", "residual", "schedule, variant");
    auto results = nlohmann::json::array();
    for (const auto n : options.blocks) {
        const auto r = measure(options, n);
        const auto value = [&](const char* key) { return r.at(key).get<double>(); };
        fmt::print("{:5} {:11.2f} {:11.2f} {:11.2f} {:11.2f} {:6.2f} {:6.2f} {:7.2f} {:7.2f} {:7.1f} {:9.1e}  {}, {}\n", n,
                   value("factor_seconds") * 1e6, value("rival_factor_seconds") * 1e6, value("factor_solve_seconds") * 1e6,
                   value("rival_factor_solve_seconds") * 1e6, value("factor_ratio"), value("factor_solve_ratio"),
                   value("median_factor_ratio"), value("median_factor_solve_ratio"), value("gflops"), value("relative_residual"),
                   r.at("schedule").get<std::string>(), r.at("variant").get<std::string>());
        std::fflush(stdout);
        results.push_back(r);
        if (!(value("relative_residual") <= 1e-14))
            throw Error(fmt::format("n = {}: the relative residual is {}", n, value("relative_residual")));
    }
    if (!options.json.empty()) std::ofstream(options.json) << results.dump(2) << '\n';
    return 0;
} catch (const std::exception& error) {
    fmt::print(stderr, "bench_cpu: {}\n", error.what());
    return 1;
}
