#include "tools/tune/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <trifold/error.hpp>
#include <tuple>

#include "tools/tune/search.hpp"

namespace trifold::tune {
namespace {

using Table = std::vector<std::vector<std::string>>;

constexpr std::string_view head = R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>trifold tune</title><style>
body{font:15px/1.5 Helvetica,Arial,sans-serif;max-width:70em;margin:2em auto;padding:0 1em;color:#222}
table{border-collapse:collapse;margin:1em 0}td,th{text-align:left;padding:.15em 1em .15em 0;border-bottom:1px solid #ddd;vertical-align:top}
svg{width:12em;height:1em}rect{fill:#1f5fa8}
</style></head><body><h1>What tuning found</h1>
)";

double geometric_mean(const std::vector<double>& numbers) {
    double sum = 0;
    for (const auto number : numbers) sum += std::log(number);
    return numbers.empty() ? 1 : std::exp(sum / static_cast<double>(numbers.size()));
}

/// The row that alone answered for a knob; null where there is none, or where the generator no longer takes the candidate.
const Row* row_of(const Trial& trial, const std::string& knob) try {
    const Row* row = nullptr;
    bool is_first = true;
    for (const auto& one : family_of(trial.point).make(trial.point, parse_target(trial.machine.target), trial.candidate).decided)
        if (one.list == knob) row = std::exchange(is_first, false) ? one.row : nullptr;
    return row;
} catch (const SpecError&) {
    return nullptr;
}

/// The first row heads the others. Cells that begin with <svg are pictures.
std::string table(const Table& rows) {
    std::string text = "<table>\n";
    for (const auto& row : rows) {
        const auto* cell = &row == &rows.front() ? "th" : "td";
        text += "<tr>";
        for (const auto& one : row) {
            std::string inside;
            const bool is_picture = one.starts_with("<svg");
            for (const char letter : one)
                inside += is_picture || (letter != '<' && letter != '&') ? std::string(1, letter) : letter == '<' ? "&lt;" : "&amp;";
            text += fmt::format("<{0}>{1}</{0}>", cell, inside);
        }
        text += "</tr>\n";
    }
    return text + "</table>\n";
}

std::string name_of(const Candidate& candidate) { return candidate.schedule + " " + candidate.variant; }

Table devices(const std::vector<Decision>& decisions) {
    std::map<std::string, std::vector<Decision>> machines;
    for (const auto& one : decisions) machines[one.machine.device + ", " + one.machine.target + ", " + one.machine.driver].push_back(one);
    Table rows{{"device", "points", "times as fast as the default, geometric mean", "largest", "points that changed"}};
    for (const auto& [name, own] : machines) {
        const auto changed = std::ranges::count_if(own, [](const Decision& one) { return !(one.winner == one.standard); });
        rows.push_back({name, std::to_string(own.size()), fmt::format("{:.3f}", mean_gain(own)),
                        fmt::format("{:.2f}", std::ranges::max_element(own, {}, &Decision::gain)->gain()), std::to_string(changed)});
    }
    return rows;
}

/// The largest gain first, with bars where another candidate than the default won.
Table points(std::vector<Decision> decisions) {
    std::ranges::stable_sort(decisions, std::greater(), &Decision::gain);
    Table rows{{"point", "device", "time", "gain", "", "winner", "default", "trials"}};
    for (const auto& one : decisions) {
        const auto percent = 100 * (one.gain() - 1), largest = 100 * (decisions.front().gain() - 1);
        const auto bar = one.winner == one.standard || largest <= 0
                             ? ""
                             : fmt::format("<svg><rect width=\"{:.0f}%\" height=\"100%\"/></svg>", 100 * percent / largest);
        rows.push_back({to_string(one.point), one.machine.device, fmt::format("{:.1f} us", one.seconds * 1e6),
                        fmt::format("{:.1f} %", percent), bar, name_of(one.winner), name_of(one.standard), std::to_string(one.trials)});
    }
    return rows;
}

Table knobs(const std::vector<Trial>& trials) {
    Table rows{{"target", "list, row", "takes", "value", "points", "time over time, mean", "worst", ""}};
    for (const auto& one : effects_of(trials))
        rows.push_back({one.target, fmt::format("{}, {}", one.row->list, one.row->place + 1), fmt::format("{}", one.row->number),
                        std::to_string(one.value), std::to_string(one.ratios.size()), fmt::format("{:.3f}", one.mean()),
                        fmt::format("{:.3f}", one.worst()), one.is_better() ? "better" : ""});
    return rows;
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
    struct Found {
        Effect effect;
        std::map<std::string, std::vector<double>> ratios;  // by point
    };
    std::map<std::tuple<std::string, std::string, std::size_t, std::int64_t>, Found> found;  // by target, list, row, value
    for (const auto& pair : knob_pairs(trials)) {
        const auto* row = row_of(*pair.plain, pair.knob);
        if (row == nullptr || pair.value == std::llround(row->number)) continue;
        const auto& target = pair.plain->machine.target;
        auto& [effect, ratios] = found[{target, row->list, row->place, pair.value}];
        effect = {target, row, pair.value, {}};
        ratios[pair.point].push_back(pair.ratio);
    }
    std::vector<Effect> result;
    for (const auto& [key, one] : found) {
        auto& effect = result.emplace_back(one.effect);
        for (const auto& [point, own] : one.ratios) effect.ratios.push_back(geometric_mean(own));
    }
    return result;
}

double mean_gain(const std::vector<Decision>& decisions) {
    std::vector<double> gains;
    for (const auto& decision : decisions) gains.push_back(decision.gain());
    return geometric_mean(gains);
}

std::string report_html(const Records& records) {
    const auto decisions = last_decisions(records.decisions);
    const auto failed = std::ranges::count_if(records.trials, [](const Trial& trial) { return trial.verdict != Verdict::sound; });
    return fmt::format(
        "{}<p>{} trials, of which {} failed; {} lines could not be read.</p>\n{}<h2>All points</h2>\n{}"
        "<h2>What one knob alone changes</h2>\n<p>A row of generator/devices gives each knob its value. Others that were tried in its "
        "place:</p>\n{}</body></html>\n",
        head, records.trials.size(), failed, records.unreadable, table(devices(decisions)), table(points(decisions)),
        table(knobs(records.trials)));
}

Numbers model_numbers(const Target& target, const std::string& variant) {
    const auto path = "models." + variant + ".";
    Numbers result;
    for (const auto& [name, number] : device_of(target).numbers)
        if (name.starts_with(path)) result[name] = number;
    if (result.empty()) throw SpecError(fmt::format("{} has no time model of a variant '{}'", to_string(target), variant));
    return result;
}

std::vector<std::map<std::string, double>> modelled(const std::vector<Trial>& trials, const Numbers& numbers) {
    std::vector<std::map<std::string, double>> result;
    std::map<std::string, KnownDevice> devices;
    for (const auto& trial : trials) {
        const auto target = parse_target(trial.machine.target);
        auto [device, is_new] = devices.try_emplace(trial.machine.target, device_of(target));
        for (const auto& [name, number] : numbers)
            if (is_new) device->second.numbers[name] = number;
        const auto& family = family_of(trial.point);
        if (family.modelled == nullptr) throw SpecError(fmt::format("the family {} has no time models", family.name));
        auto& seconds = result.emplace_back();
        for (const auto& [operation, weight] : trial.point.objective)
            seconds[operation] = family.modelled(trial.point, target, trial.candidate, operation, device->second);
    }
    return result;
}

}  // namespace trifold::tune
