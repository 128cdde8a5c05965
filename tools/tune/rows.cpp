#include "tools/tune/rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "tools/formats/file.hpp"
#include "tools/tune/family.hpp"

namespace trifold::tune {
namespace {

/// "generator 0.1.0-01234567; driver 580.65 (CUDA 13.0); effort full; 40 trials"
std::string measured_text(const Decision& decision) {
    const auto driver = decision.machine.driver.empty() ? "" : fmt::format("driver {}; ", decision.machine.driver);
    return fmt::format("generator {}; {}effort {}; {} trials", decision.generator, driver, decision.effort, decision.trials);
}

/// The words after `name` up to the next semicolon; empty where there are none.
std::string part_of(std::string_view measured, std::string_view name) {
    for (auto rest = measured; !rest.empty();) {
        const auto end = std::min(rest.find("; "), rest.size());
        const auto part = rest.substr(0, end);
        if (part.starts_with(name)) return std::string(part.substr(name.size()));
        rest.remove_prefix(std::min(end + 2, rest.size()));
    }
    return {};
}

int trials_in(std::string_view measured) {
    constexpr std::string_view ending = " trials";
    if (!measured.ends_with(ending)) return 0;
    measured.remove_suffix(ending.size());
    const auto digits = measured.substr(measured.find_last_not_of("0123456789") + 1);
    constexpr std::size_t most_digits = 9;
    return digits.empty() || digits.size() > most_digits ? 0 : std::stoi(std::string(digits));
}

double gain_of(const WisdomRow& row) { return row.default_seconds / row.seconds; }

std::string kernels_of(const WisdomRow& row) {
    return fmt::format("{} {} ({:.3f} times as fast as the default)", row.pins.schedule, row.pins.variant, gain_of(row));
}

void check_trial(const Trial& trial) {
    parse_target(trial.machine.target);
    if (trial.generator.empty()) throw formats::InputError("'generator' is empty");
    if (trial.verdict != Verdict::sound) return;
    for (const auto& [operation, weight] : trial.point.objective) {
        const auto seconds = trial.seconds.find(operation);
        if (seconds == trial.seconds.end() || !std::isfinite(seconds->second) || seconds->second <= 0)
            throw formats::InputError(fmt::format("it is sound, and has no seconds above 0 for {}", operation));
    }
}

}  // namespace

WisdomRow row_of(const Decision& decision) {
    return {.device = decision.machine.device,
            .key = family_of(decision.point).key(decision.point, parse_target(decision.machine.target)),
            .objective = to_string(decision.point.objective),
            .pins = {decision.winner.schedule, decision.winner.variant},
            .seconds = decision.seconds,
            .default_seconds = decision.standard_seconds,
            .measured = measured_text(decision)};
}

Decision decision_of(const WisdomRow& row) {
    const auto generator = part_of(row.measured, "generator ");
    return {.machine = {row.device, to_string(row.key.target), part_of(row.measured, "driver ")},
            .generator = generator.empty() ? "unknown" : generator,
            .point = {family_of(row.key).spec(row.key), row.key.workers, parse_objective(row.objective)},
            .winner = {row.pins.schedule, row.pins.variant},
            .seconds = row.seconds,
            .standard_seconds = row.default_seconds,
            .trials = trials_in(row.measured),
            .effort = part_of(row.measured, "effort ")};
}

MergedRows merge(const std::vector<std::vector<WisdomRow>>& files) {
    std::map<std::string, WisdomRow> taken;
    MergedRows merged;
    for (const auto& rows : files) {
        for (const auto& row : rows) {
            const auto [place, is_first] = taken.emplace(key_of(row), row);
            if (is_first) continue;
            const auto before = place->second;
            if (gain_of(row) >= gain_of(before)) place->second = row;
            if (before.pins == row.pins) continue;
            auto problem = place->first;
            std::ranges::replace(problem, '\t', ' ');
            merged.conflicts.push_back(
                fmt::format("{}: {} or {}; taken: {}", problem, kernels_of(before), kernels_of(row), kernels_of(place->second)));
        }
    }
    for (auto& [key, row] : taken) merged.rows.push_back(std::move(row));
    return merged;
}

std::vector<Trial> parse_trials(std::string_view text) {
    std::vector<Trial> trials;
    for (int number = 1; !text.empty(); ++number) {
        const auto end = std::min(text.find('\n'), text.size());
        const auto line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
        try {
            trials.push_back(parse_trial(line));
            check_trial(trials.back());
        } catch (const std::exception& error) {  // of the JSON, the Spec, the target
            throw formats::InputError(fmt::format("line {}: {}", number, error.what()));
        }
    }
    return trials;
}

}  // namespace trifold::tune
