#include "tools/tune/measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <new>
#include <trifold/error.hpp>

#include "tools/bench/statistics.hpp"

namespace trifold::tune {
namespace {

constexpr std::int64_t most_sets_on_gpus = 16, most_sets = 4096;  // on a GPU each has a graph of its own
constexpr double seconds_of_run = 0.002;                          // what short calls are repeated for, for each run that is asked for
constexpr int most_runs = 10;                                     // for each that is asked for
constexpr int turns = 4;

Repeats repeats_of(const Round& round) {
    const int share = round.by_turns ? turns : 1;
    return {.warm_up = round.by_turns ? 1 : 2,
            .least = std::max(1, round.runs / share),
            .most = most_runs * round.runs / share,
            .seconds = seconds_of_run * round.runs / share};
}

bool is_about_memory(const std::string& text) {
    return text.find("cuMemAlloc") != std::string::npos || text.find("bytes of device memory") != std::string::npos ||
           text.find("bytes of memory") != std::string::npos || text.find("out of memory") != std::string::npos;
}

}  // namespace

/// An operation of the objective of one candidate.
class PointBench::Timing {
  public:
    Timing(std::string operation, double weight, Timed timed, double floor)
        : operation_(std::move(operation)), weight_(weight), timed_(std::move(timed)), floor_(floor) {}
    void run(const Repeats& repeats) { std::ranges::copy(take_series(timed_, repeats, floor_), std::back_inserter(seconds_)); }
    /// Adds the median to the trial, and the range between the quartiles to `range`.
    void fill(Trial& trial, double& range) const {
        const auto statistics = bench::summarize(seconds_);
        trial.seconds[operation_] = statistics.median;
        trial.runs = static_cast<int>(seconds_.size());
        range += weight_ * statistics.spread;
    }

  private:
    std::string operation_;
    double weight_;
    Timed timed_;
    double floor_;
    std::vector<double> seconds_;
};

PointBench::PointBench(Point point, Device device, MeasureOptions options)
    : point_(std::move(point)), device_(std::move(device)), options_(std::move(options)) {}

PointBench::~PointBench() = default;

const PointData& PointBench::data(bool cached) {
    if (!tools_) tools_ = std::make_unique<DeviceTools>(device_);
    const auto sets = sets_of(point_, device_, options_.hot || cached);
    if (data_ && sets == sets_) return *data_;
    data_.reset();
    data_ = family_of(point_).data(point_.spec, options_.seed, *tools_, sets);
    sets_ = sets;
    return *data_;
}

/// What goes wrong is the trial's verdict.
void PointBench::attempt(Trial& trial, const std::function<void()>& work) {
    const auto judge = [&](Verdict verdict, const char* why) {
        trial.verdict = verdict;
        trial.why = why;
        trial.seconds.clear();
    };
    try {
        if (options_.begin) options_.begin(trial);
        work();
    } catch (const TooLarge& error) {
        judge(Verdict::too_large, error.what());
    } catch (const std::bad_alloc&) {
        judge(Verdict::too_large, "not enough memory of the host");
    } catch (const SpecError& error) {
        judge(Verdict::refused, error.what());
    } catch (const CompileError& error) {
        judge(Verdict::does_not_compile, error.what());
    } catch (const Unsolvable& error) {
        judge(Verdict::inaccurate, error.what());
    } catch (const std::exception& error) {
        works_ = !tools_ || still_works(*tools_);
        judge(works_ && is_about_memory(error.what()) ? Verdict::too_large : Verdict::fails, error.what());
    }
}

void PointBench::check(Trial& trial, Prepared& prepared) const {
    trial.kernels = kernels_of(prepared.program(), prepared.resources());
    trial.residual = prepared.residual();
    const auto tolerance = family_of(point_).tolerance(precision_of(point_));
    if (trial.residual <= tolerance) return;
    trial.verdict = Verdict::inaccurate;
    trial.why = fmt::format("the relative residual is {:.1e}; at most {:.0e} is taken", trial.residual, tolerance);
    if (std::isnan(trial.residual)) trial.residual = 0;  // JSON has no NaN; `why` says it
}

std::vector<PointBench::Timing> PointBench::timings_of(const Candidate& candidate, Prepared& prepared) const {
    std::vector<Timing> result;
    for (const auto& [operation, weight] : point_.objective) {
        auto timed = prepared.timed(operation);
        if (options_.clock) timed = options_.clock(candidate, std::move(timed));
        result.emplace_back(operation, weight, std::move(timed), least_seconds(point_, operation, device_));
    }
    return result;
}

void PointBench::measure(Trial& trial, const Round& round, std::int64_t most_spills) {
    attempt(trial, [&] {
        const auto& all = data(round.cached);
        const auto prepared = all.prepare(point_, trial.candidate, device_);
        check(trial, *prepared);
        if (spill_bytes(trial.kernels) > most_spills) {
            trial.verdict = Verdict::spilled;
            trial.why = fmt::format("{} bytes of registers are spilled; the default spills none, and the variant without these knobs {}",
                                    spill_bytes(trial.kernels), most_spills);
        }
        if (trial.verdict != Verdict::sound) return;
        double range = 0;
        for (auto& timing : timings_of(trial.candidate, *prepared)) {
            timing.run(repeats_of(round));
            timing.fill(trial, range);
        }
        trial.spread = range / objective_seconds(trial);
    });
}

/// Whether they compute what the first does.
void PointBench::compare(std::vector<Trial>& trials, std::vector<std::shared_ptr<Prepared>>& prepared) {
    std::optional<Outputs> standard;
    for (std::size_t k = 0; k < trials.size() && works_; ++k) {
        if (!prepared[k] || (k > 0 && prepared[k] == prepared[0])) continue;
        attempt(trials[k], [&] {
            check(trials[k], *prepared[k]);
            auto outputs = prepared[k]->outputs();
            if (options_.spoil) options_.spoil(trials[k].candidate, outputs);
            if (k == 0) standard = outputs;
            if (const auto what = standard ? difference(*standard, outputs, precision_of(point_), family_of(point_).tolerance) : "";
                !what.empty()) {
                trials[k].verdict = Verdict::disagrees;
                trials[k].why = fmt::format("it disagrees with the default in {}", what);
            }
        });
    }
}

void PointBench::measure_by_turns(std::vector<Trial>& trials, const Round& round) {
    std::vector<std::shared_ptr<Prepared>> prepared(trials.size());
    std::vector<std::vector<Timing>> timings(trials.size());
    for (std::size_t k = 0; k < trials.size() && works_; ++k) {
        const bool again = k > 0 && trials[k].candidate == trials[0].candidate;
        attempt(trials[k], [&] {
            const auto& all = data(round.cached);
            if (again)
                prepared[k] = prepared[0];
            else
                prepared[k] = all.prepare(point_, trials[k].candidate, device_);
        });
    }
    compare(trials, prepared);
    const auto is_usable = [&](std::size_t k) { return works_ && prepared[k] && trials[k].verdict == Verdict::sound; };
    for (std::size_t k = 0; k < trials.size(); ++k)
        if (is_usable(k)) attempt(trials[k], [&] { timings[k] = timings_of(trials[k].candidate, *prepared[k]); });
    for (int turn = 0; turn < turns; ++turn)
        for (std::size_t place = 0; place < trials.size(); ++place) {
            const auto k = turn % 2 == 0 ? place : trials.size() - 1 - place;
            if (!is_usable(k)) continue;
            attempt(trials[k], [&] {
                for (auto& timing : timings[k]) timing.run(repeats_of(round));
            });
        }
    for (std::size_t k = 0; k < trials.size(); ++k) {
        if (!is_usable(k)) continue;
        double range = 0;
        for (const auto& timing : timings[k]) timing.fill(trials[k], range);
        trials[k].spread = range / objective_seconds(trials[k]);
    }
}

std::int64_t sets_of(const Point& point, const Device& device, bool hot) {
    if (hot) return 1;
    const auto enough = cache_bytes(device) / family_of(point).data_bytes(point.spec) + 1;
    return std::min(enough, device.backend() == Backend::cpu ? most_sets : most_sets_on_gpus);
}

}  // namespace trifold::tune
