#include "tools/tune/search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <trifold/error.hpp>

namespace trifold::tune {
namespace {

constexpr int few_runs = 5, more_runs = 10, final_runs = 20;
constexpr std::size_t finalists = 5;
constexpr double far_behind = 1.3;  // times slower than the best: it does not go on
constexpr double is_better = 0.99;  // of the time so far: a knob is kept
constexpr double min_gain = 0.02;   // of a winner

/// How much is tried.
struct Strategy {
    std::string_view name;
    std::size_t max_pairs;    // without the default
    std::size_t max_trials;   // candidates, the default among them
    std::size_t tuned_pairs;  // of these the knobs are varied; of the default in any case where there are no other pairs
    bool two_knobs;           // all values of two knobs at once
};
constexpr std::array strategies{Strategy{"quick", 4, 5, 0, false}, Strategy{"full", 9, 25, 2, false},
                                Strategy{"exhaustive", 1000, 1000, 2, true}};

/// One search: what was measured so far.
class Search {
  public:
    Search(const Space& space, const Strategy& strategy, const Promise& promise, const Measure& measure)
        : space_(space), strategy_(strategy), promise_(promise), measure_(measure) {}

    std::optional<Decision> run() {
        std::vector<Candidate> first{space_.standard};
        std::ranges::copy_n(space_.pairs.begin(), static_cast<std::ptrdiff_t>(std::min(space_.pairs.size(), strategy_.max_pairs)),
                            std::back_inserter(first));
        try_out(first, {"first", few_runs});
        // The better half once more, with twice as many runs, until few enough for the last round are left.
        int runs = few_runs;
        for (auto count = sound_.size(); count > finalists + 1; count = (count + 1) / 2)
            try_out(best((count + 1) / 2, far_behind), {"again", runs *= 2});
        const auto starts = best(std::max<std::size_t>(strategy_.tuned_pairs, space_.pairs.empty() ? 1 : 0), INFINITY);
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
    static std::string name_of(const Candidate& candidate) { return candidate.schedule + " " + candidate.variant; }
    std::size_t left() const { return strategy_.max_trials - std::min(strategy_.max_trials, tried_.size()); }

    void try_out(const std::vector<Candidate>& candidates, const Round& round) {
        for (const auto& candidate : candidates) tried_.insert(name_of(candidate));
        if (candidates.empty()) return;
        for (const auto& trial : measure_(candidates, round)) {
            std::erase_if(sound_, [&](const Trial& earlier) { return earlier.candidate == trial.candidate; });
            if (trial.verdict == Verdict::sound) sound_.push_back(trial);
        }
        std::ranges::stable_sort(sound_, {}, objective_seconds);
    }

    /// The fastest, the default among them, up to `behind` times the seconds of the very best.
    std::vector<Candidate> best(std::size_t most, double behind) const {
        std::vector<Candidate> result;
        for (const auto& trial : sound_)
            if (result.size() < most && objective_seconds(trial) <= behind * objective_seconds(sound_.front()))
                result.push_back(trial.candidate);
        return result;
    }

    double seconds_of(const Candidate& candidate) const {
        const auto found = std::ranges::find(sound_, candidate, &Trial::candidate);
        return found == sound_.end() ? INFINITY : objective_seconds(*found);
    }

    /// Measures those of the candidates that are new, as many as may still be tried.
    std::vector<Candidate> vary(std::vector<Candidate> candidates) {
        std::erase_if(candidates, [&](const Candidate& one) { return tried_.contains(name_of(one)); });
        if (candidates.size() > left()) candidates.resize(left());
        try_out(candidates, {"knobs", more_runs});
        return candidates;
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
            const auto before = current;
            for (const auto& candidate : vary(next->candidates))
                if (seconds_of(candidate) < is_better * seconds_of(current)) current = candidate;
            if (!(current == before)) knobs = in_order(current);
        }
    }

    /// Every value of one knob, and of two.
    void vary_two(const Candidate& start) {
        std::vector<Candidate> ones, twos;
        for (const auto& values : space_.knobs(start)) std::ranges::copy(values.candidates, std::back_inserter(ones));
        for (const auto& one : ones)
            for (const auto& values : space_.knobs(one)) std::ranges::copy(values.candidates, std::back_inserter(twos));
        for (auto* list : {&ones, &twos}) {
            std::ranges::stable_sort(*list, {}, &Candidate::modelled_seconds);
            vary(std::move(*list));
        }
    }

    /// The most promising knob first.
    std::vector<KnobValues> in_order(const Candidate& candidate) const {
        auto knobs = space_.knobs(candidate);
        const auto variant = parse_variant(candidate.variant).name;
        std::ranges::stable_sort(knobs, {}, [&](const KnobValues& values) {
            const auto fastest = std::ranges::min_element(values.candidates, {}, &Candidate::modelled_seconds);
            return std::pair(-promise_(variant, values.knob), fastest->modelled_seconds);
        });
        return knobs;
    }

    /// The best five by turns with the default. Where nothing else is sound, what is known of the default decides.
    std::optional<Decision> finish() {
        std::vector<Candidate> last{space_.standard};
        for (const auto& one : best(finalists + 1, far_behind))
            if (!(one == space_.standard) && last.size() <= finalists) last.push_back(one);
        if (last.size() == 1) return decide(sound_);
        last.push_back(space_.standard);
        const auto trials = measure_(last, {"final", final_runs, true});
        const auto decision = decide(trials);
        if (!decision || decision->winner == space_.standard) return decision;
        // Many programs solve the same arrays again and again. What is faster from memory can be slower there.
        return decide(trials, measure_(last, {"cached", final_runs, true, true}));
    }

    const Space& space_;
    const Strategy& strategy_;
    const Promise& promise_;
    const Measure& measure_;
    std::set<std::string> tried_;
    std::vector<Trial> sound_;  // the last of each candidate, the fastest first
};

/// Seconds of the sound runs of a round's first candidate.
struct Defaults {
    double least = INFINITY, most = 0;
    explicit Defaults(const std::vector<Trial>& round) {
        for (const auto& trial : round) {
            if (trial.verdict != Verdict::sound || !(trial.candidate == round.front().candidate)) continue;
            least = std::min(least, objective_seconds(trial));
            most = std::max(most, objective_seconds(trial));
        }
    }
    bool any() const { return most > 0; }
    double mean() const { return (least + most) / 2; }
    double spread() const { return (most - least) / least; }
    double margin() const { return std::max(min_gain, spread()); }
};

/// Whether a candidate is slower than a round's first one by 2 %, or by more than equal runs of that one differ.
bool loses(const Candidate& candidate, const std::vector<Trial>& round) {
    const Defaults defaults(round);
    return defaults.any() && std::ranges::any_of(round, [&](const Trial& trial) {
               return trial.candidate == candidate && trial.verdict == Verdict::sound &&
                      objective_seconds(trial) > defaults.mean() * (1 + defaults.margin());
           });
}

}  // namespace

std::string_view to_string(Effort effort) { return strategies.at(static_cast<std::size_t>(effort)).name; }

Effort parse_effort(std::string_view text) {
    const auto found = std::ranges::find(strategies, text, &Strategy::name);
    if (found == strategies.end()) throw SpecError(fmt::format("'{}' is no effort; give quick, full or exhaustive", text));
    return static_cast<Effort>(found - strategies.begin());
}

std::optional<Decision> search(const Space& space, Effort effort, const Promise& promise, const Measure& measure) {
    return Search(space, strategies.at(static_cast<std::size_t>(effort)), promise, measure).run();
}

std::optional<Decision> decide(const std::vector<Trial>& trials, const std::vector<Trial>& cached) {
    const Defaults defaults(trials);
    const Trial* best = nullptr;
    for (const auto& trial : trials)
        if (trial.verdict == Verdict::sound && !(trial.candidate == trials.front().candidate) && !loses(trial.candidate, cached) &&
            (best == nullptr || objective_seconds(trial) < objective_seconds(*best)))
            best = &trial;
    if (best == nullptr && !defaults.any()) return std::nullopt;
    Decision decision;
    decision.standard = decision.winner = trials.front().candidate;
    decision.standard_seconds = decision.seconds = defaults.any() ? defaults.mean() : objective_seconds(*best);
    decision.spread = defaults.any() ? defaults.spread() : 0;
    if (best == nullptr || (defaults.any() && objective_seconds(*best) >= defaults.mean() * (1 - defaults.margin()))) return decision;
    decision.winner = best->candidate;
    decision.seconds = objective_seconds(*best);
    return decision;
}

std::vector<KnobPair> knob_pairs(const std::vector<Trial>& trials) {
    struct Tried {
        const Trial* trial = nullptr;
        double seconds = INFINITY;
    };
    std::map<std::string, std::map<std::pair<std::string, std::string>, Tried>> points;  // by schedule and variant
    for (const auto& trial : trials) {
        if (trial.verdict != Verdict::sound) continue;
        auto& tried = points[key_of(trial.machine, trial.generator, trial.point)][{trial.candidate.schedule, trial.candidate.variant}];
        if (objective_seconds(trial) < tried.seconds) tried = {&trial, objective_seconds(trial)};
    }
    std::vector<KnobPair> pairs;
    for (const auto& [point, all] : points)
        for (const auto& [name, tried] : all) {
            const auto variant = parse_variant(name.second);
            for (const auto& [knob, value] : variant.pinned) {
                auto plain = variant;
                plain.pinned.erase(knob);
                if (const auto other = all.find({name.first, to_string(plain)}); other != all.end())
                    pairs.push_back({other->second.trial, point, knob, value, tried.seconds / other->second.seconds});
            }
        }
    return pairs;
}

Promise promise_of(const std::vector<Trial>& trials) {
    std::map<std::string, std::pair<double, int>> sums;  // of logarithms, by variant and knob
    for (const auto& pair : knob_pairs(trials)) {
        auto& [sum, count] = sums[parse_variant(pair.plain->candidate.variant).name + ":" + pair.knob];
        sum -= std::log(pair.ratio);
        ++count;
    }
    return [sums](const std::string& variant, const std::string& knob) {
        const auto found = sums.find(variant + ":" + knob);
        return found == sums.end() ? 0 : found->second.first / found->second.second;
    };
}

}  // namespace trifold::tune
