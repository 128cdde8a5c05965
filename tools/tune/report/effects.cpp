#include "tools/tune/report/effects.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <trifold/error.hpp>

#include "generator/program/knob.hpp"
#include "tools/tune/report/html.hpp"

namespace trifold::tune::report {
namespace {

/// A record may name a variant in a way that this program does not know; then it has no knobs.
VariantName variant_of(const Candidate& candidate) try { return parse_variant(candidate.variant); } catch (const SpecError&) {
    return {candidate.variant, {}};
}

struct Compared {
    std::string value;
    double seconds;
};
using Name = std::pair<std::string, std::string>;  // variant, knob

/// Of one point: what is compared, by knob and by all that stays the same.
using Comparisons = std::map<std::pair<Name, std::string>, std::vector<Compared>>;

void add_knobs(Comparisons& all, const Measured& measured, const std::map<std::string, std::vector<std::string>>& knobs) {
    const auto& schedule = measured.trial->candidate.schedule;
    const auto variant = variant_of(measured.trial->candidate);
    const auto text = to_string(variant);
    all[{{variant.name, "schedule"}, text}].push_back({schedule, measured.seconds});
    if (variant.pinned.empty()) all[{{"any", "variant"}, schedule}].push_back({variant.name, measured.seconds});
    const auto own = knobs.find(variant.name);
    if (own == knobs.end()) return;
    for (const auto& knob : own->second) {
        auto rest = variant;
        rest.pinned.erase(knob);
        const auto found = variant.pinned.find(knob);
        const auto value = found == variant.pinned.end() ? "default" : fmt::format("{}", found->second);
        all[{{variant.name, knob}, to_string(rest) + " " + schedule}].push_back({value, measured.seconds});
    }
}

std::map<std::string, std::vector<std::string>> knobs_of(const Sweep& sweep) {
    std::map<std::string, std::vector<std::string>> knobs;
    for (const auto& setting : sweep.settings)
        for (const auto& tuned : setting.points)
            for (const auto& measured : tuned.measured) {
                const auto variant = variant_of(measured.trial->candidate);
                auto& own = knobs[variant.name];
                for (const auto& [knob, value] : variant.pinned)
                    if (std::ranges::find(own, knob) == own.end()) own.push_back(knob);
            }
    return knobs;
}

void gather(std::map<Name, Effect>& effects, const Comparisons& comparisons) {
    for (const auto& [key, compared] : comparisons) {
        if (compared.size() < 2) continue;
        auto& effect = effects[key.first];
        const auto [best, worst] = std::ranges::minmax(compared, {}, &Compared::seconds);
        effect.ratios.push_back(worst.seconds / best.seconds);
        for (const auto& one : compared) effect.values[one.value].push_back(one.seconds / best.seconds);
    }
}

double best_of(const Tuned& tuned) { return std::ranges::min(tuned.measured, {}, &Measured::seconds).seconds; }

double needed(const Tuned& tuned, double enough) {
    int count = std::numeric_limits<int>::max();
    for (const auto& measured : tuned.measured)
        if (measured.seconds <= enough) count = std::min(count, measured.count);
    return count;
}

/// Of one point, after 1, 2, ... candidates; until one was measured there is none.
std::vector<double> regret_of(const Tuned& tuned) {
    std::vector<double> regret(static_cast<std::size_t>(tuned.candidates), std::numeric_limits<double>::infinity());
    for (const auto& measured : tuned.measured) regret[static_cast<std::size_t>(measured.count - 1)] = measured.seconds / best_of(tuned);
    for (std::size_t k = 1; k < regret.size(); ++k) regret[k] = std::min(regret[k], regret[k - 1]);
    return regret;
}

}  // namespace

std::vector<Effect> effects(const Sweep& sweep) {
    const auto knobs = knobs_of(sweep);
    std::map<Name, Effect> gathered;
    for (const auto& setting : sweep.settings)
        for (const auto& tuned : setting.points) {
            Comparisons comparisons;
            for (const auto& measured : tuned.measured) add_knobs(comparisons, measured, knobs);
            gather(gathered, comparisons);
        }
    std::vector<Effect> result;
    for (auto& [name, effect] : gathered) {
        std::tie(effect.variant, effect.knob) = name;
        result.push_back(std::move(effect));
    }
    std::ranges::stable_sort(result, std::greater<>{}, [](const Effect& effect) { return quantile(effect.ratios, 0.5); });
    return result;
}

Progress progress(const Sweep& sweep) {
    Progress result;
    std::vector<std::vector<double>> regrets;
    std::size_t longest = 0;
    for (const auto& setting : sweep.settings)
        for (const auto& tuned : setting.points) {
            if (tuned.candidates < 2 || tuned.measured.empty()) continue;
            result.needed.push_back(needed(tuned, near_enough * best_of(tuned)));
            longest = std::max(longest, regrets.emplace_back(regret_of(tuned)).size());
        }
    for (std::size_t k = 0; k < longest; ++k) {
        std::vector<double> after;
        for (const auto& regret : regrets) {
            const auto value = regret[std::min(k, regret.size() - 1)];
            if (value < std::numeric_limits<double>::infinity()) after.push_back(value);
        }
        result.regret.push_back(geometric_mean(after));
    }
    return result;
}

}  // namespace trifold::tune::report
