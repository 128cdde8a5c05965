// Solves the field's test problems over sizes, schedules and precisions and holds the worst relative residual against the bound:
// 1e-14 (f64), 1e-6 (f32). A thinned list by default, everything with --all; --part 2/5 runs the second fifth.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <map>
#include <mutex>
#include <thread>
#include <trifold/error.hpp>

#include "tools/formats/residual.hpp"
#include "tools/problems/problems.hpp"
#include "tools/trifold/text.hpp"
#include "tools/trifold/tridiagonal/solution.hpp"

using namespace trifold;

namespace {

constexpr std::int64_t blocks[] = {1, 2, 3, 4, 6, 7, 8, 12, 16, 24, 31, 32, 33, 48, 64, 96, 128};
constexpr std::int64_t horizons[] = {1, 2, 3, 4, 5, 7, 8, 16, 31, 64, 100};
constexpr const char* schedules[] = {"auto",      "sequential", "single-stage", "multi-stage",   "partitioned:2", "partitioned:5",
                                     "twisted:2", "twisted:5",  "recursive:2",  "recursive:4:3", "segments:3,2",  "segments:7"};
constexpr int skipped = 77;  // what ctest knows as skipped

struct Options {
    bool all = false;
    std::string device = "cpu", part = "1/1", only_schedule, variant = "auto";
    std::int64_t rhs = 1, batch = 1, only_block = 0;
    int jobs = 1, workers = 2;
    std::uint64_t seed = 42;
};

struct Case {
    std::int64_t block, horizon;
    std::vector<std::string> schedules;
};

/// Every block size, horizon and schedule is in the thinned list, not every combination.
std::vector<Case> cases(const Options& options) {
    std::vector<Case> result;
    for (std::size_t i = 0; i < std::size(blocks); ++i) {
        for (std::size_t j = 0; j < std::size(horizons); ++j) {
            if (options.only_block != 0 && blocks[i] != options.only_block) continue;
            if (!options.all && (i + 2 * j) % 7 != 0) continue;
            Case one{blocks[i], horizons[j], {}};
            for (std::size_t k = 0; k < std::size(schedules); ++k) {
                if (!options.only_schedule.empty() ? options.only_schedule == schedules[k] : options.all || (i + j + k) % 6 == 0)
                    one.schedules.emplace_back(schedules[k]);
            }
            result.push_back(std::move(one));
        }
    }
    return result;
}

/// The problems that are defined for a block size.
std::vector<const char*> problems_of(std::int64_t block) {
    std::vector<const char*> names{"socu"};
    if (block >= 8) names.push_back("blockdss");
    if (block % 2 == 0) names.push_back("kalman");
    return names;
}

/// What all threads add to.
class Tally {
  public:
    void add(const std::string& problem, Precision precision, double residual, const std::string& where) {
        const std::scoped_lock lock(mutex_);
        auto& row = rows_[{problem, precision}];
        row.count += 1;
        const auto bound = precision == Precision::f32 ? 1e-6 : 1e-14;
        if (!(residual <= bound)) {
            row.above += 1;
            fmt::print(stderr, "{} {} {}: relative residual {:.2e}\n", problem, to_string(precision), where, residual);
        }
        if (!(residual <= row.worst)) row.worst = residual, row.where = where;
    }
    void fail(const std::string& where, const std::string& what) {
        const std::scoped_lock lock(mutex_);
        failures_ += 1;
        fmt::print(stderr, "{}: {}\n", where, what);
    }
    /// The exit status.
    int report() const {
        std::vector<std::vector<std::string>> table{{"problem", "precision", "solved", "above", "worst", "at"}};
        std::int64_t bad = failures_, count = 0;
        for (const auto& [key, row] : rows_) {
            table.push_back({key.first, std::string(to_string(key.second)), fmt::format("{}", row.count), fmt::format("{}", row.above),
                             fmt::format("{:.2e}", row.worst), row.where});
            bad += row.above;
            count += row.count;
        }
        fmt::print("{}{} errors\n", command::table(table), failures_);
        return bad == 0 && count > 0 ? 0 : 1;
    }

  private:
    struct Row {
        std::int64_t count = 0, above = 0;
        double worst = 0;
        std::string where;
    };
    std::mutex mutex_;
    std::map<std::pair<std::string, Precision>, Row> rows_;
    std::int64_t failures_ = 0;
};

void run_case(const Case& one, const Options& options, const Device& device, Tally& tally) {
    for (const auto* name : problems_of(one.block)) {
        const auto system = problems::make(name, {one.block, one.horizon, options.rhs, options.batch}, options.seed);
        std::vector<std::vector<Level>> done;  // short horizons turn different names into the same schedule
        for (const auto& schedule : one.schedules) {
            if (schedule != "auto") {
                auto levels = parse_schedule(schedule, one.horizon).levels;
                if (std::ranges::find(done, levels) != done.end()) continue;
                done.push_back(std::move(levels));
            }
            for (const auto precision : {Precision::f64, Precision::f32}) {
                const auto where = fmt::format("n = {}, N = {}, {}", one.block, one.horizon, schedule);
                try {
                    const auto solution = command::solve(system, {device, precision, {schedule, options.variant, options.workers}});
                    for (const auto& failure : solution.failed)
                        tally.fail(where, fmt::format("{} {}: member {} not positive definite at block {}, row {}", name,
                                                      to_string(precision), failure.member, failure.block, failure.row));
                    for (const auto& failure : solution.nearly_singular)
                        tally.fail(where, fmt::format("{} {}: member {} nearly singular, least pivot {:.1e}", name, to_string(precision),
                                                      failure.member, failure.least_pivot));
                    for (const auto residual : formats::relative_residuals(system, solution.x)) tally.add(name, precision, residual, where);
                } catch (const std::exception& error) {
                    tally.fail(where, fmt::format("{} {}: {}", name, to_string(precision), error.what()));
                }
            }
        }
    }
}

/// Cases part - 1, part - 1 + parts, ...: every part has small and large ones.
std::vector<Case> part_of(const std::vector<Case>& all, const std::string& text) {
    std::size_t part = 0, parts = 0;
    if (std::sscanf(text.c_str(), "%zu/%zu", &part, &parts) != 2 || part < 1 || part > parts)
        throw SpecError(fmt::format("--part {} is not like 2/5", text));
    std::vector<Case> result;
    for (auto k = part - 1; k < all.size(); k += parts) result.push_back(all[k]);
    return result;
}

int run(const Options& options) {
    std::optional<Device> device;
    try {
        device = Device::parse(options.device);
    } catch (const DeviceError& error) {
        fmt::print("skipped: no CUDA device ({})\n", error.what());
        return skipped;
    }
    auto list = part_of(cases(options), options.part);
    std::ranges::reverse(list);  // the large ones first, so that the threads end together
    Tally tally;
    command::Progress progress(static_cast<int>(list.size()));
    std::mutex shown;
    std::atomic<std::size_t> next = 0;
    std::vector<std::jthread> threads;
    for (int k = 0; k < options.jobs; ++k) {
        threads.emplace_back([&] {
            for (auto at = next++; at < list.size(); at = next++) {
                {
                    const std::scoped_lock lock(shown);
                    progress.step(fmt::format("n = {}, N = {}", list[at].block, list[at].horizon));
                }
                run_case(list[at], options, *device, tally);
            }
        });
    }
    threads.clear();
    return tally.report();
}

}  // namespace

int main(int argc, char** argv) {
    Options options;
    CLI::App app{"Relative residuals of the field's test problems against 1e-14 (f64) and 1e-6 (f32)"};
    app.add_flag("--all", options.all, "Every block size, horizon and schedule of the list");
    app.add_option("--device", options.device, "cpu or cuda")->capture_default_str();
    app.add_option("--part", options.part, "k/K: the k-th of K parts")->capture_default_str();
    app.add_option("--jobs", options.jobs, "Problems at a time")->check(CLI::PositiveNumber)->capture_default_str();
    app.add_option("--workers", options.workers, "CPU threads of one solve")->capture_default_str();
    app.add_option("--variant", options.variant, "Of the kernels")->capture_default_str();
    app.add_option("--block", options.only_block, "Only this block size of the list");
    app.add_option("--schedule", options.only_schedule, "Only this schedule of the list");
    app.add_option("--rhs", options.rhs, "Right-hand sides")->capture_default_str();
    app.add_option("--batch", options.batch, "Systems")->capture_default_str();
    app.add_option("--seed", options.seed, "Of the problems")->capture_default_str();
    CLI11_PARSE(app, argc, argv);
    try {
        return run(options);
    } catch (const std::exception& error) {
        fmt::print(stderr, "accuracy: {}\n", error.what());
        return 2;
    }
}
