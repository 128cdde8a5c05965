#include <algorithm>
#include <cmath>
#include <map>

#include "generator/program/knob.hpp"
#include "tools/tune/search.hpp"

namespace trifold::tune {
namespace {

constexpr double least_gain = 0.02;  // of a winner

/// The last trial of each candidate, by point and machine.
using ByCandidate = std::map<std::string, std::map<std::string, const Trial*>>;

ByCandidate by_candidate(const std::vector<Trial>& trials) {
    ByCandidate result;
    for (const auto& trial : trials) {
        if (trial.verdict != Verdict::sound || trial.round == "final") continue;
        const auto place = trial.point.spec.dump() + to_string(trial.point) + trial.machine.device + trial.candidate.schedule;
        result[place][trial.candidate.variant] = &trial;
    }
    return result;
}

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
    return own > (least + most) / 2 * (1 + std::max(least_gain, (most - least) / least));
}

}  // namespace

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
    const auto bound = decision.standard_seconds * (1 - std::max(least_gain, decision.spread));
    const bool is_faster = best != nullptr && objective_seconds(*best) < bound;
    decision.winner = is_faster ? best->candidate : standard.candidate;
    decision.seconds = is_faster ? objective_seconds(*best) : decision.standard_seconds;
    return decision;
}

std::function<double(const std::string&, const std::string&)> promise_of(const std::vector<Trial>& trials) {
    struct Sum {
        double logarithms = 0;
        int count = 0;
    };
    std::map<std::string, Sum> sums;
    for (const auto& [place, variants] : by_candidate(trials)) {
        for (const auto& [variant, trial] : variants) {
            const auto name = parse_variant(variant);
            if (name.pinned.size() != 1 || !variants.contains(name.name)) continue;
            auto& sum = sums[name.name + ":" + name.pinned.begin()->first];
            sum.logarithms += std::log(objective_seconds(*variants.at(name.name)) / objective_seconds(*trial));
            ++sum.count;
        }
    }
    return [sums](const std::string& variant, const std::string& knob) {
        const auto found = sums.find(variant + ":" + knob);
        return found == sums.end() ? 0 : found->second.logarithms / found->second.count;
    };
}

}  // namespace trifold::tune
