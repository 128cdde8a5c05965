#include "tools/tune/search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <trifold/error.hpp>

#include "generator/program/knob.hpp"

namespace trifold::tune {
namespace {

constexpr int few_runs = 5, more_runs = 10, final_runs = 20;
constexpr std::size_t finalists = 5;
constexpr double far_behind = 1.3;  // times slower than the best: it does not go on
constexpr double is_better = 0.99;  // of the time so far: a knob is kept
constexpr double min_gain = 0.02;   // of a winner
constexpr std::array<std::string_view, 3> efforts{"quick", "full", "exhaustive"};

std::string key_of(const Candidate& candidate) { return candidate.schedule + " " + candidate.variant; }

/// One search: what was measured so far.
class Search {
  public:
    Search(const Space& space, const Strategy& strategy, const Measure& measure) : space_(space), strategy_(strategy), measure_(measure) {}

    std::optional<Decision> run() {
        std::vector<Candidate> first{space_.standard};
        for (const auto& pair : space_.pairs)
            if (first.size() <= strategy_.max_pairs) first.push_back(pair);
        try_out(first, {"first", few_runs});
        halve();
        const auto starts = best(std::max<std::size_t>(strategy_.tuned_pairs, space_.pairs.empty() ? 1 : 0), true);
        for (std::size_t k = 0; k < starts.size(); ++k) {
            if (strategy_.two_knobs) vary_two(starts[k]);
            descend(starts[k], left() / (starts.size() - k));
        }
        auto decision = finish();
        if (decision) {
            decision->trials = static_cast<int>(tried_.size());
            decision->effort = strategy_.name;
        }
        return decision;
    }

  private:
    std::size_t left() const { return strategy_.max_trials - std::min(strategy_.max_trials, tried_.size()); }

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

    /// One knob after the other, from the best so far, within a share of the trials.
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

/// Whether a candidate is slower than a round's first one by 2 %, or by more than equal runs of that one differ.
bool loses(const Candidate& candidate, const std::vector<Trial>& round) {
    std::vector<double> defaults;
    double own = 0;
    for (const auto& trial : round) {
        if (trial.verdict != Verdict::sound || trial.seconds.empty()) continue;
        if (trial.candidate == round.front().candidate) defaults.push_back(objective_seconds(trial));
        if (trial.candidate == candidate) own = objective_seconds(trial);
    }
    if (defaults.empty()) return false;
    const auto [least, most] = std::ranges::minmax(defaults);
    return own > (least + most) / 2 * (1 + std::max(min_gain, (most - least) / least));
}

}  // namespace

std::string_view to_string(Effort effort) { return efforts.at(static_cast<std::size_t>(effort)); }

Effort parse_effort(std::string_view text) {
    const auto found = std::ranges::find(efforts, text);
    if (found == efforts.end()) throw SpecError(fmt::format("'{}' is no effort; give quick, full or exhaustive", text));
    return static_cast<Effort>(found - efforts.begin());
}

Strategy strategy_of(Effort effort) {
    Strategy strategy{.name = std::string(to_string(effort)), .max_pairs = 4, .max_trials = 5};
    if (effort == Effort::quick) return strategy;
    strategy.max_pairs = 9;
    strategy.max_trials = 25;
    strategy.tuned_pairs = 2;
    if (effort == Effort::full) return strategy;
    strategy.max_pairs = 1000;
    strategy.max_trials = 1000;
    strategy.two_knobs = true;
    return strategy;
}

std::optional<Decision> search(const Space& space, const Strategy& strategy, const Measure& measure) {
    return Search(space, strategy, measure).run();
}

std::optional<Decision> decide(const std::vector<Trial>& trials, const std::vector<Trial>& cached) {
    if (trials.empty()) return std::nullopt;
    const auto& standard = trials.front();
    const bool is_measured = standard.verdict == Verdict::sound;
    Decision decision;
    decision.standard = standard.candidate;
    const Trial* best = nullptr;
    std::vector<double> defaults;
    for (const auto& trial : trials) {
        if (trial.verdict != Verdict::sound) continue;
        if (trial.candidate == standard.candidate) {
            defaults.push_back(objective_seconds(trial));
        } else if (loses(trial.candidate, cached)) {
            continue;
        } else if (best == nullptr || objective_seconds(trial) < objective_seconds(*best)) {
            best = &trial;
        }
    }
    if (!is_measured && best == nullptr) return std::nullopt;
    if (!is_measured) {
        decision.winner = best->candidate;
        decision.seconds = decision.standard_seconds = objective_seconds(*best);
        return decision;
    }
    const auto [least, most] = std::ranges::minmax(defaults);
    decision.spread = (most - least) / least;
    decision.standard_seconds = (least + most) / 2;
    const auto bound = decision.standard_seconds * (1 - std::max(min_gain, decision.spread));
    const bool is_faster = best != nullptr && objective_seconds(*best) < bound;
    decision.winner = is_faster ? best->candidate : standard.candidate;
    decision.seconds = is_faster ? objective_seconds(*best) : decision.standard_seconds;
    return decision;
}

std::function<double(const std::string&, const std::string&)> promise_of(const std::vector<Trial>& trials) {
    // The last sound trial of each candidate, by point and schedule, then by variant.
    std::map<std::string, std::map<std::string, double>> seconds;
    for (const auto& trial : trials)
        if (trial.verdict == Verdict::sound && trial.round != "final")
            seconds[trial.point.spec.dump() + to_string(trial.point) + trial.candidate.schedule][trial.candidate.variant] =
                objective_seconds(trial);
    std::map<std::string, std::pair<double, int>> sums;  // of logarithms, by variant and knob
    for (const auto& [place, variants] : seconds)
        for (const auto& [variant, own] : variants) {
            const auto name = parse_variant(variant);
            if (name.pinned.size() != 1 || !variants.contains(name.name)) continue;
            auto& [sum, count] = sums[name.name + ":" + name.pinned.begin()->first];
            sum += std::log(variants.at(name.name) / own);
            ++count;
        }
    return [sums](const std::string& variant, const std::string& knob) {
        const auto found = sums.find(variant + ":" + knob);
        return found == sums.end() ? 0 : found->second.first / found->second.second;
    };
}

}  // namespace trifold::tune
