#include "tools/tune/point_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <trifold/error.hpp>

#include "runtime/wisdom/wisdom.hpp"

namespace trifold::tune {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// The watchdog looks on while a candidate has the device.
MeasureOptions guarded(const Workshop& workshop) {
    auto options = workshop.options.measuring;
    options.seed += workshop.options.seed;
    options.begin = [&workshop](const Trial& trial) { workshop.watchdog.arm(trial); };
    return options;
}

/// A turn on the device.
class Turn {
  public:
    explicit Turn(const Workshop& workshop) : workshop_(workshop), lock_(workshop.turn) {
        if (workshop.ledger.is_over()) throw CompilePool::Stopped();
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn() { workshop_.watchdog.disarm(); }

  private:
    const Workshop& workshop_;
    const std::scoped_lock<std::mutex> lock_;
};

}  // namespace

PointSearch::PointSearch(const Workshop& workshop, const Point& point)
    : workshop_(workshop),
      point_(point),
      space_(space_of(point, workshop.device.target(), wisdom_device(workshop.device), workshop.options.effort == Effort::exhaustive)),
      bench_(point, workshop.device, guarded(workshop)),
      trials_(workshop.ledger.trials(point)) {}

PointResult PointSearch::run() {
    auto strategy = strategy_of(workshop_.options.effort, workshop_.options.seed);
    strategy.promise = workshop_.promise;
    auto decision =
        search(space_, strategy, [&](const std::vector<Candidate>& candidates, const Round& round) { return answer(candidates, round); });
    if (!decision) {
        const auto found = std::ranges::find(trials_, space_.standard, &Trial::candidate);
        return {point_,
                {},
                false,
                found == trials_.end() ? "nothing was measured" : fmt::format("no candidate is sound; the default: {}", found->why)};
    }
    decision->machine = workshop_.ledger.machine();
    decision->generator = workshop_.ledger.generator();
    decision->point = point_;
    workshop_.ledger.append(*decision);
    return {point_, decision, false, ""};
}

Trial PointSearch::trial_of(const Candidate& candidate, const Round& round) const {
    Trial trial;
    trial.machine = workshop_.ledger.machine();
    trial.generator = workshop_.ledger.generator();
    trial.point = point_;
    trial.candidate = candidate;
    trial.is_default = candidate == space_.standard;
    trial.round = round.name;
    return trial;
}

/// A trial that stands for this one: of the same round with as many runs, or one that failed. Times that were taken by turns are compared
/// with each other only.
const Trial* PointSearch::known(const Candidate& candidate, const Round& round) const {
    const auto found = std::ranges::find_if(trials_, [&](const Trial& trial) {
        if (!(trial.candidate == candidate)) return false;
        if (trial.verdict != Verdict::sound) return true;
        return !round.by_turns && trial.round == round.name && trial.runs >= round.runs;
    });
    return found == trials_.end() ? nullptr : &*found;
}

std::vector<Trial> PointSearch::answer(const std::vector<Candidate>& candidates, const Round& round) {
    std::vector<Trial> result;
    std::vector<Candidate> needed;
    for (const auto& candidate : candidates) {
        const auto* earlier = known(candidate, round);
        result.push_back(earlier != nullptr ? *earlier : trial_of(candidate, round));
        if (earlier == nullptr) needed.push_back(candidate);
    }
    const auto target = workshop_.device.target();
    workshop_.pool.begin(point_, target, needed);
    if (target.backend == Backend::cpu)  // nothing compiles while something is measured
        for (const auto& candidate : needed) workshop_.pool.wait(point_, target, candidate);
    if (round.by_turns) {
        try_by_turns(result, round);
        return result;
    }
    for (auto& trial : result)
        if (known(trial.candidate, round) == nullptr) try_one(trial, round);
    return result;
}

void PointSearch::try_one(Trial& trial, const Round& round) {
    const auto compiled = workshop_.pool.wait(point_, workshop_.device.target(), trial.candidate);
    trial.verdict = compiled.verdict;
    trial.why = compiled.why;
    trial.took = compiled.seconds;
    if (trial.verdict == Verdict::sound) {
        const Turn turn(workshop_);
        const auto begin = Clock::now();
        bench_.measure(trial, round, most_spills(trial.candidate, trials_));
        trial.took += since(begin);
        if (!bench_.works()) {
            keep(trial);
            check_device(trial);
        }
    } else if (workshop_.ledger.is_over()) {
        throw CompilePool::Stopped();
    }
    keep(trial);
}

void PointSearch::try_by_turns(std::vector<Trial>& trials, const Round& round) {
    for (auto& trial : trials)
        if (trial.verdict == Verdict::sound) workshop_.pool.wait(point_, workshop_.device.target(), trial.candidate);
    const Turn turn(workshop_);
    const auto begin = Clock::now();
    std::erase_if(trials, [](const Trial& trial) { return trial.verdict != Verdict::sound; });
    bench_.measure_by_turns(trials, round);
    for (auto& trial : trials) trial.took = since(begin) / static_cast<double>(trials.size());
    for (const auto& trial : trials)
        if (!round.cached && (trial.verdict != Verdict::sound || !trial.seconds.empty())) keep(trial);
    for (const auto& trial : trials)
        if (!bench_.works() && trial.verdict == Verdict::fails) check_device(trial);
}

void PointSearch::keep(const Trial& trial) {
    trials_.push_back(trial);
    workshop_.ledger.append(trial);
    if (trial.verdict != Verdict::sound) return;
    const auto seconds = objective_seconds(trial);
    if (best_seconds_ != 0 && seconds >= best_seconds_) return;
    best_seconds_ = seconds;
    workshop_.ledger.show(to_string(point_),
                          fmt::format("{:.1f} us by {}, {}", seconds * 1e6, trial.candidate.schedule, trial.candidate.variant));
}

void PointSearch::check_device(const Trial& trial) {
    workshop_.ledger.give_up(fmt::format("{}: after '{}' by {}, {} the device takes no more work; run again to go on behind it",
                                         to_string(point_), trial.why, trial.candidate.schedule, trial.candidate.variant));
    throw CompilePool::Stopped();
}

}  // namespace trifold::tune
