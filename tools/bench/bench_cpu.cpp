// The CPU backend against the same sweep written with OpenBLAS calls, against itself on two threads, and batched.
#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <trifold/trifold.hpp>

#include "tools/bench/openblas_sweep.hpp"

using namespace trifold;

namespace {

struct Options {
    std::vector<std::int64_t> blocks{4, 8, 12, 16, 20, 24, 32, 48, 64, 96, 128};
    std::int64_t horizon = 128, batch = 0;
    std::string order = "column", schedule = "auto", variant = "auto", device = "cpu", json;
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
    std::string name;
    std::function<void()> factor, factor_solve;
    std::vector<double> factor_times{}, factor_solve_times{};
};

/// Rounds of every contender in turn, so that what disturbs one disturbs all. Each works for a millisecond at a call before its times
/// count: while the others run its data and code leave the caches and its threads go to sleep, which in a steady loop of calls they do not.
void race(std::vector<Contender>& contenders, double seconds, clockid_t clock) {
    const auto time = [&](const std::function<void()>& work, int repeats) {
        const auto start = clock_seconds(clock);
        for (int k = 0; k < repeats; ++k) work();
        return (clock_seconds(clock) - start) / repeats;
    };
    const auto once = time(contenders[0].factor, 3);
    const int repeats = std::max(1, static_cast<int>(3e-4 / once));
    const auto time_warm = [&](const std::function<void()>& work) {
        const auto awake = clock_seconds(CLOCK_MONOTONIC) + 1e-3;
        while (clock_seconds(CLOCK_MONOTONIC) < awake) work();
        return time(work, repeats);
    };
    const auto end = clock_seconds(CLOCK_MONOTONIC) + seconds;
    for (int round = 0; round < 15 || clock_seconds(CLOCK_MONOTONIC) < end; ++round)
        for (auto& contender : contenders) {
            contender.factor_times.push_back(time_warm(contender.factor));
            contender.factor_solve_times.push_back(time_warm(contender.factor_solve));
        }
}

double least(const std::vector<double>& times) { return *std::ranges::min_element(times); }
double median(std::vector<double> times) {
    std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
    return times[times.size() / 2];
}

Contender ours(Solver& solver, Problem& problem) {
    return {"trifold", [&] { solver.factor(problem.d.data(), problem.e.data()); },
            [&] { solver.factor_solve(problem.d.data(), problem.e.data(), problem.b.data(), problem.x.data()); }};
}

/// The systems of the problem one after another, each through the solver that `pick` has for it.
Contender one_at_a_time(std::string name, const Problem& problem, std::vector<double>& x, std::function<Solver&(std::int64_t)> pick) {
    const auto rows = problem.horizon * problem.n, couplings = (problem.horizon - 1) * problem.n * problem.n;
    return {std::move(name),
            [&problem, pick, rows, couplings] {
                for (std::int64_t m = 0; m < problem.members; ++m)
                    pick(m).factor(problem.d.data() + m * rows * problem.n, problem.e.data() + m * couplings);
            },
            [&problem, &x, pick, rows, couplings] {
                for (std::int64_t m = 0; m < problem.members; ++m)
                    pick(m).factor_solve(problem.d.data() + m * rows * problem.n, problem.e.data() + m * couplings,
                                         problem.b.data() + m * rows, x.data() + m * rows);
            }};
}

Contender openblas(bench::OpenblasSweep& sweep, const Problem& problem, std::vector<double>& x) {
    return {"OpenBLAS", [&] { sweep.factor(problem.d, problem.e); },
            [&] {
                sweep.factor(problem.d, problem.e);
                sweep.solve(problem.b, x);
            }};
}

nlohmann::json result(const Options& options, const Problem& problem, const Choice& choice, const Contender& us, const Contender& rival) {
    const auto factor = least(us.factor_times), both = least(us.factor_solve_times), n = static_cast<double>(problem.n);
    return {{"block", problem.n},
            {"horizon", problem.horizon},
            {"batch", problem.members},
            {"threads", options.threads},
            {"schedule", choice.schedule.name},
            {"variant", choice.variant},
            {"rung", to_string(choice.rung)},
            {"row", choice.row},
            {"rival", rival.name},
            {"factor_seconds", factor},
            {"factor_solve_seconds", both},
            {"rival_factor_seconds", least(rival.factor_times)},
            {"rival_factor_solve_seconds", least(rival.factor_solve_times)},
            {"factor_ratio", least(rival.factor_times) / factor},
            {"factor_solve_ratio", least(rival.factor_solve_times) / both},
            {"median_factor_ratio", median(rival.factor_times) / median(us.factor_times)},
            {"median_factor_solve_ratio", median(rival.factor_solve_times) / median(us.factor_solve_times)},
            {"gflops", 7.0 / 3 * n * n * n * static_cast<double>(problem.horizon * problem.members) / factor * 1e-9},
            {"relative_residual", problem.residual(options.order == "column")}};
}

/// The rival is OpenBLAS, or one thread where we have several. A batch has two, of its systems one at a time: each with a factor of its
/// own, which is what a batch leaves behind; and all with the same, which stays in the nearest caches and is lost with the next system.
std::vector<nlohmann::json> measure(const Options& options, std::int64_t n) {
    Problem problem(options, n);
    const Plan plan(make_spec(options, n, problem.members), Device::parse(options.device),
                    {options.schedule, options.variant, options.threads});
    const Plan single(make_spec(options, n, 1), Device::parse(options.device), {"auto", "auto", 1});
    Solver solver(plan), alone(single);
    std::deque<Solver> own;
    for (std::int64_t m = 0; m < options.batch; ++m) own.emplace_back(single);
    bench::OpenblasSweep sweep(n, options.horizon);
    std::vector<double> rival_x(problem.x.size());
    std::vector<Contender> contenders{ours(solver, problem)};
    if (options.batch > 0)
        contenders.push_back(
            one_at_a_time("own factors", problem, rival_x, [&](std::int64_t m) -> Solver& { return own[static_cast<std::size_t>(m)]; }));
    if (options.batch > 0 || options.threads > 1)
        contenders.push_back(one_at_a_time(options.batch > 0 ? "one factor" : "one thread", problem, rival_x,
                                           [&](std::int64_t) -> Solver& { return alone; }));
    else
        contenders.push_back(openblas(sweep, problem, rival_x));
    // On one thread its own clock keeps most of what else runs here out of the times.
    race(contenders, options.seconds, options.threads > 1 ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID);
    solver.check();
    std::vector<nlohmann::json> results;
    for (std::size_t k = 1; k < contenders.size(); ++k)
        results.push_back(result(options, problem, plan.choice(), contenders[0], contenders[k]));
    return results;
}

void print(const nlohmann::json& r) {
    const auto value = [&](const char* key) { return r.at(key).get<double>(); };
    const auto text = [&](const char* key) { return r.at(key).get<std::string>(); };
    fmt::print("{:5} {:11.2f} {:11.2f} {:11.2f} {:11.2f} {:6.2f} {:6.2f} {:7.2f} {:7.2f} {:7.1f} {:9.1e}  {}; {}, {}\n",
               r.at("block").get<std::int64_t>(), value("factor_seconds") * 1e6, value("rival_factor_seconds") * 1e6,
               value("factor_solve_seconds") * 1e6, value("rival_factor_solve_seconds") * 1e6, value("factor_ratio"),
               value("factor_solve_ratio"), value("median_factor_ratio"), value("median_factor_solve_ratio"), value("gflops"),
               value("relative_residual"), text("rival"), text("schedule"), text("variant"));
    std::fflush(stdout);
}

/// OpenBLAS starts a thread for each core when it is loaded, wanted or not, and they spin where our second thread should run. This is the
/// switch it has, so the program starts again with it.
void keep_openblas_to_one_thread(char** argv) {
    if (std::getenv("OPENBLAS_NUM_THREADS") != nullptr) return;
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    execv("/proc/self/exe", argv);
    throw Error("cannot start again with OPENBLAS_NUM_THREADS=1; set it");
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
    app.add_option("--device", options.device, "cpu, or cpu:ARCH");
    app.add_option("--seconds", options.seconds, "spent on one block size");
    app.add_option("--json", options.json, "write the results to this file");
    CLI11_PARSE(app, argc, argv);
    keep_openblas_to_one_thread(argv);
    fmt::print("{}; OpenBLAS has {} kernels; microseconds, the least of interleaved rounds; ratios of these and of the medians\n",
               Device::parse(options.device).name(), bench::OpenblasSweep::core());
    fmt::print("{:>5} {:>11} {:>11} {:>11} {:>11} {:>6} {:>6} {:>7} {:>7} {:>7} {:>9}  {}\n", "n", "factor", "rival", "fact+solve", "rival",
               "factor", "both", "med", "med", "GFLOP/s", "residual", "rival; schedule, variant");
    auto results = nlohmann::json::array();
    for (const auto n : options.blocks)
        for (const auto& r : measure(options, n)) {
            print(r);
            results.push_back(r);
            const auto residual = r.at("relative_residual").get<double>();
            if (!(residual <= 1e-14)) throw Error(fmt::format("n = {}: the relative residual is {}", n, residual));
        }
    if (!options.json.empty()) std::ofstream(options.json) << results.dump(2) << '\n';
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "bench_cpu: %s\n", error.what());
    return 1;
}
