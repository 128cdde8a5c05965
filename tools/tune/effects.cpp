#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <trifold/error.hpp>
#include <tuple>

#include "tools/tune/family.hpp"
#include "tools/tune/report.hpp"

namespace trifold::tune {
namespace {

/// A candidate of a point with its pins and its least time: disturbances only slow a trial down.
struct Tried {
    const Trial* trial;
    double seconds;
    VariantName variant;
};

/// The knob that `pinned` pins and `plain` leaves to its row, where they differ in nothing else.
std::optional<std::string> only_difference(const Tried& plain, const Tried& pinned) {
    if (plain.trial->candidate.schedule != pinned.trial->candidate.schedule || plain.variant.name != pinned.variant.name ||
        pinned.variant.pinned.size() != plain.variant.pinned.size() + 1)
        return std::nullopt;
    std::optional<std::string> knob;
    for (const auto& [name, value] : pinned.variant.pinned) {
        const auto same = plain.variant.pinned.find(name);
        if (same != plain.variant.pinned.end() && same->second == value) continue;
        if (same != plain.variant.pinned.end() || knob) return std::nullopt;
        knob = name;
    }
    return knob;
}

/// The row that alone answered for a knob; null where there is none, or where the generator no longer takes the candidate.
const Row* row_of(const Trial& trial, const std::string& knob) try {
    const Row* row = nullptr;
    bool is_first = true;
    for (const auto& turned : family_of(trial.point).decided(trial.point, parse_target(trial.machine.target), trial.candidate))
        if (turned.list == knob) row = std::exchange(is_first, false) ? turned.row : nullptr;
    return row;
} catch (const SpecError&) {
    return nullptr;
}

double geometric_mean(const std::vector<double>& numbers) {
    double sum = 0;
    for (const auto number : numbers) sum += std::log(number);
    return numbers.empty() ? 1 : std::exp(sum / static_cast<double>(numbers.size()));
}

/// The candidates of each point and device.
std::map<std::string, std::vector<Tried>> by_point(const std::vector<Trial>& trials) {
    std::map<std::string, std::vector<Tried>> result;
    for (const auto& trial : trials) {
        if (trial.verdict != Verdict::sound) continue;
        auto& all = result[key_of(trial.machine, trial.generator, trial.point)];
        const auto same = std::ranges::find_if(all, [&](const Tried& one) { return one.trial->candidate == trial.candidate; });
        if (same == all.end())
            all.push_back({&trial, objective_seconds(trial), parse_variant(trial.candidate.variant)});
        else
            same->seconds = std::min(same->seconds, objective_seconds(trial));
    }
    return result;
}

}  // namespace

double Effect::mean() const { return geometric_mean(ratios); }
double Effect::worst() const { return ratios.empty() ? 1 : *std::ranges::max_element(ratios); }

bool Effect::is_better() const {
    constexpr double min_gain = 0.01, max_loss = 0.03;
    constexpr std::size_t min_points = 3;
    return ratios.size() >= min_points && mean() <= 1 - min_gain && worst() <= 1 + max_loss;
}

std::vector<Effect> effects_of(const std::vector<Trial>& trials) {
    std::map<std::tuple<std::string, std::string, std::size_t, std::int64_t>, Effect> found;  // by target, list, row, value
    for (const auto& [point, all] : by_point(trials)) {
        std::map<Effect*, std::vector<double>> ratios;  // of this point
        for (const auto& plain : all)
            for (const auto& pinned : all) {
                const auto knob = only_difference(plain, pinned);
                const auto* row = knob ? row_of(*plain.trial, *knob) : nullptr;
                if (row == nullptr || pinned.variant.pinned.at(*knob) == std::llround(row->number)) continue;
                const auto& target = plain.trial->machine.target;
                const auto value = pinned.variant.pinned.at(*knob);
                auto& effect = found[{target, row->list, row->place, value}];
                effect.target = target;
                effect.row = row;
                effect.value = value;
                ratios[&effect].push_back(pinned.seconds / plain.seconds);
            }
        for (const auto& [effect, own] : ratios) effect->ratios.push_back(geometric_mean(own));
    }
    std::vector<Effect> result;
    for (auto& [key, effect] : found) result.push_back(std::move(effect));
    return result;
}

double mean_gain(const std::vector<Decision>& decisions) {
    std::vector<double> gains;
    for (const auto& decision : decisions) gains.push_back(decision.gain());
    return geometric_mean(gains);
}

}  // namespace trifold::tune
