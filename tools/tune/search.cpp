#include "tools/tune/search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <set>
#include <trifold/error.hpp>

#include "generator/program/knob.hpp"

namespace trifold::tune {
namespace {

constexpr int few_runs = 5, more_runs = 10, final_runs = 20;
constexpr std::size_t finalists = 5;
constexpr double far_behind = 1.3;  // times slower than the best: it does not go on
constexpr double is_better = 0.99;  // of the time so far: a knob is kept
constexpr std::array<std::string_view, 3> efforts{"quick", "full", "exhaustive"};

std::string key_of(const Candidate& candidate) { return candidate.schedule + " " + candidate.variant; }

/// One search: what was measured so far.
class Search {
  public:
    Search(const Space& space, const Strategy& strategy, const Measure& measure) : space_(space), strategy_(strategy), measure_(measure) {}

    std::optional<Decision> run() {
        try_out(first_candidates(space_, strategy_), {"first", few_runs});
        if (!strategy_.random) {
            halve();
            const auto starts = best(std::max<std::size_t>(strategy_.tuned_pairs, space_.pairs.empty() ? 1 : 0), true);
            for (std::size_t k = 0; k < starts.size(); ++k) {
                if (strategy_.two_knobs) vary_two(starts[k]);
                descend(starts[k], left() / (starts.size() - k));
            }
        }
        auto decision = finish();
        if (decision) {
            decision->trials = static_cast<int>(tried_.size());
            decision->effort = strategy_.name;
        }
        return decision;
    }

  private:
    std::size_t left() const { return strategy_.most_trials - std::min(strategy_.most_trials, tried_.size()); }

    void try_out(std::vector<Candidate> candidates, const Round& round) {
        for (const auto& candidate : candidates) tried_.insert(key_of(candidate));
        if (candidates.empty()) return;
        for (const auto& trial : measure_(candidates, round)) {
            const auto key = key_of(trial.candidate);
            std::erase_if(sound_, [&](const Trial& earlier) { return key_of(earlier.candidate) == key; });
            if (trial.verdict == Verdict::sound) sound_.push_back(trial);
        }
        std::ranges::stable_sort(sound_, {}, objective_seconds);
    }

    /// The fastest, the default among them; those that are far behind the very best only if `any`.
    std::vector<Candidate> best(std::size_t most, bool any) const {
        std::vector<Candidate> result;
        for (const auto& trial : sound_) {
            if (result.size() == most) break;
            if (any || objective_seconds(trial) <= far_behind * objective_seconds(sound_.front())) result.push_back(trial.candidate);
        }
        return result;
    }

    double seconds_of(const Candidate& candidate) const {
        const auto found = std::ranges::find(sound_, candidate, &Trial::candidate);
        return found == sound_.end() ? INFINITY : objective_seconds(*found);
    }

    /// The better half once more, with twice as many runs, until few enough for the last round are left.
    void halve() {
        int runs = few_runs;
        for (auto count = sound_.size(); count > finalists + 1; count = (count + 1) / 2) {
            runs *= 2;
            try_out(best((count + 1) / 2, false), {"again", runs});
        }
    }

    /// One knob after the other, from the best so far, with about so many trials.
    void descend(const Candidate& start, std::size_t share) {
        auto current = start;
        std::set<std::string> done;
        const auto stop = left() - share;
        for (auto knobs = in_order(current); left() > stop;) {
            const auto next = std::ranges::find_if(knobs, [&](const KnobValues& values) { return !done.contains(values.knob); });
            if (next == knobs.end()) break;
            done.insert(next->knob);
            auto candidates = untried(next->candidates);
            if (candidates.size() > left()) candidates.resize(left());
            try_out(candidates, {"knobs", more_runs});
            bool moved = false;
            for (const auto& candidate : candidates)
                if (seconds_of(candidate) < is_better * seconds_of(current)) {
                    current = candidate;
                    moved = true;
                }
            if (moved) knobs = in_order(current);
        }
    }

    /// Every value of one knob, and of two.
    void vary_two(const Candidate& start) {
        std::vector<Candidate> ones, twos;
        for (const auto& values : space_.knobs(start)) std::ranges::copy(values.candidates, std::back_inserter(ones));
        for (const auto& one : ones)
            for (const auto& values : space_.knobs(one)) std::ranges::copy(values.candidates, std::back_inserter(twos));
        for (auto* list : {&ones, &twos}) {
            *list = untried(*list);
            std::ranges::stable_sort(*list, {}, &Candidate::modelled_seconds);
            if (list->size() > left()) list->resize(left());
            try_out(*list, {"knobs", more_runs});
        }
    }

    /// The most promising knob first.
    std::vector<KnobValues> in_order(const Candidate& candidate) const {
        auto knobs = space_.knobs(candidate);
        const auto variant = parse_variant(candidate.variant).name;
        const auto rank = [&](const KnobValues& values) {
            const auto promise = strategy_.promise ? strategy_.promise(variant, values.knob) : 0;
            const auto fastest = std::ranges::min_element(values.candidates, {}, &Candidate::modelled_seconds);
            return std::pair(-promise, fastest->modelled_seconds);
        };
        std::ranges::stable_sort(knobs, {}, rank);
        return knobs;
    }

    std::vector<Candidate> untried(std::vector<Candidate> candidates) const {
        std::erase_if(candidates, [&](const Candidate& one) { return tried_.contains(key_of(one)); });
        return candidates;
    }

    /// The best five by turns with the default. Where nothing else is sound, what is known of the default decides.
    std::optional<Decision> finish() {
        std::vector<Candidate> last{space_.standard};
        for (const auto& one : best(finalists + 1, false))
            if (!(one == space_.standard) && last.size() <= finalists) last.push_back(one);
        const bool is_alone = last.size() == 1;
        if (is_alone) return seconds_of(space_.standard) < INFINITY ? decide({sound_.front()}) : std::nullopt;
        last.push_back(space_.standard);
        const auto trials = measure_(last, {"final", final_runs, true});
        const auto decision = decide(trials);
        if (!decision || decision->winner == space_.standard) return decision;
        // Many programs solve the same arrays again and again. What is faster from memory can be slower there.
        return decide(trials, measure_(last, {"cached", final_runs, true, true}));
    }

    const Space& space_;
    const Strategy& strategy_;
    const Measure& measure_;
    std::set<std::string> tried_;
    std::vector<Trial> sound_;  // the last of each candidate, the fastest first
};

/// The default, then others of all that the space has, in random order.
std::vector<Candidate> drawn(const Space& space, const Strategy& strategy) {
    auto all = space.pairs;
    for (const auto& start : {std::vector{space.standard}, space.pairs})
        for (const auto& pair : start)
            for (const auto& values : space.knobs(pair)) std::ranges::copy(values.candidates, std::back_inserter(all));
    std::mt19937_64 random(strategy.seed);
    for (auto k = all.size(); k > 1; --k) std::swap(all[k - 1], all[random() % k]);  // std::shuffle may differ between libraries
    if (all.size() + 1 > strategy.most_trials) all.resize(strategy.most_trials - 1);
    all.insert(all.begin(), space.standard);
    return all;
}

}  // namespace

std::string_view to_string(Effort effort) { return efforts.at(static_cast<std::size_t>(effort)); }

Effort parse_effort(std::string_view text) {
    const auto found = std::ranges::find(efforts, text);
    if (found == efforts.end()) throw SpecError(fmt::format("'{}' is no effort; give quick, full or exhaustive", text));
    return static_cast<Effort>(found - efforts.begin());
}

Strategy strategy_of(Effort effort, std::uint64_t seed) {
    Strategy strategy{.name = std::string(to_string(effort)), .most_pairs = 4, .most_trials = 5, .seed = seed};
    if (effort == Effort::quick) return strategy;
    strategy.most_pairs = 9;
    strategy.most_trials = 25;
    strategy.tuned_pairs = 2;
    if (effort == Effort::full) return strategy;
    strategy.most_pairs = 1000;
    strategy.most_trials = 1000;
    strategy.two_knobs = true;
    return strategy;
}

std::vector<Candidate> first_candidates(const Space& space, const Strategy& strategy) {
    if (strategy.random) return drawn(space, strategy);
    std::vector<Candidate> result{space.standard};
    for (const auto& pair : space.pairs)
        if (result.size() <= strategy.most_pairs) result.push_back(pair);
    return result;
}

std::optional<Decision> search(const Space& space, const Strategy& strategy, const Measure& measure) {
    return Search(space, strategy, measure).run();
}

}  // namespace trifold::tune
