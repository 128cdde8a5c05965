#include "tools/tune/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace trifold::tune {
namespace {

constexpr std::string_view head = R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>trifold tune</title><style>
body{font:15px/1.5 Helvetica,Arial,sans-serif;max-width:70em;margin:2em auto;padding:0 1em;color:#222}
table{border-collapse:collapse;margin:1em 0}td,th{text-align:left;padding:.15em 1em .15em 0;border-bottom:1px solid #ddd;vertical-align:top}
svg text{font:12px Helvetica,Arial,sans-serif;fill:#222}
</style></head><body><h1>What tuning found</h1>
)";

std::string escaped(std::string_view text) {
    std::string result;
    for (const char letter : text) result += letter == '<' ? "&lt;" : letter == '&' ? "&amp;" : std::string(1, letter);
    return result;
}

std::string table(const std::vector<std::vector<std::string>>& rows) {
    std::string text = "<table>\n";
    for (const auto& row : rows) {
        const auto* cell = &row == &rows.front() ? "th" : "td";
        text += "<tr>";
        for (const auto& one : row) text += fmt::format("<{0}>{1}</{0}>", cell, escaped(one));
        text += "</tr>\n";
    }
    return text + "</table>\n";
}

std::string name_of(const Candidate& candidate) { return candidate.schedule + " " + candidate.variant; }

/// Bars of the points at which another candidate than the default won, the largest gain first.
std::string picture(const std::vector<Decision>& decisions) {
    constexpr std::size_t max_bars = 60;
    constexpr int row = 20, left = 330, width = 430;
    std::vector<const Decision*> won;
    for (const auto& decision : decisions)
        if (!(decision.winner == decision.standard)) won.push_back(&decision);
    std::ranges::stable_sort(won, std::greater<>{}, [](const auto* one) { return one->gain(); });
    if (won.size() > max_bars) won.resize(max_bars);
    if (won.empty()) return "<p>The default was the fastest at every point.</p>\n";
    const auto largest = won.front()->gain() - 1;
    auto text = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" role=\"img\">\n<title>Gain over the default</title>\n",
        left + width + 80, row * won.size() + 4);
    for (std::size_t k = 0; k < won.size(); ++k) {
        const auto& one = *won[k];
        const auto y = row * k;
        const auto bar = static_cast<int>(width * (one.gain() - 1) / std::max(largest, 1e-9));
        text += fmt::format(
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"14\" fill=\"#1f5fa8\"/>"
            "<text x=\"{}\" y=\"{}\">{:.1f} %</text>\n",
            left - 8, y + 14, escaped(to_string(one.point) + " on " + one.machine.device), left, y + 3, std::max(bar, 1),
            left + std::max(bar, 1) + 6, y + 14, 100 * (one.gain() - 1));
    }
    return text + "</svg>\n";
}

std::string summary(const Records& records, const std::vector<Decision>& decisions) {
    std::map<std::string, std::vector<Decision>> machines;
    for (const auto& one : decisions) machines[one.machine.device + ", " + one.machine.target + ", " + one.machine.driver].push_back(one);
    std::vector<std::vector<std::string>> rows{
        {"device", "points", "times as fast as the default, geometric mean", "largest", "points that changed"}};
    for (const auto& [name, own] : machines) {
        const auto largest = std::ranges::max_element(own, {}, &Decision::gain)->gain();
        const auto changed = std::ranges::count_if(own, [](const Decision& one) { return !(one.winner == one.standard); });
        rows.push_back({name, std::to_string(own.size()), fmt::format("{:.3f}", mean_gain(own)), fmt::format("{:.2f}", largest),
                        std::to_string(changed)});
    }
    return fmt::format("<p>{} trials.{}</p>\n", records.trials.size(),
                       records.unreadable > 0 ? fmt::format(" {} lines could not be read.", records.unreadable) : "") +
           table(rows);
}

std::string failures(const std::vector<Trial>& trials) {
    std::map<Verdict, std::pair<int, const Trial*>> counts;
    for (const auto& trial : trials)
        if (trial.verdict != Verdict::sound) counts[trial.verdict] = {counts[trial.verdict].first + 1, &trial};
    std::vector<std::vector<std::string>> rows{{"verdict", "trials", "the last one", "why"}};
    for (const auto& [verdict, count] : counts)
        rows.push_back({std::string(to_string(verdict)), std::to_string(count.first),
                        to_string(count.second->point) + " by " + name_of(count.second->candidate), count.second->why});
    return counts.empty() ? "<p>Nothing failed.</p>\n" : table(rows);
}

}  // namespace

std::string report_html(const Records& records) {
    const auto decisions = last_decisions(records.decisions);
    std::vector<std::vector<std::string>> points{{"point", "device", "time", "gain", "winner", "default", "trials"}};
    for (const auto& one : decisions)
        points.push_back({to_string(one.point), one.machine.device, fmt::format("{:.1f} us", one.seconds * 1e6),
                          fmt::format("{:.3f}", one.gain()), name_of(one.winner), name_of(one.standard), std::to_string(one.trials)});
    std::vector<std::vector<std::string>> knobs{{"target", "list, row", "takes", "value", "points", "time over time, mean", "worst", ""}};
    for (const auto& one : effects_of(records.trials))
        knobs.push_back({one.target, fmt::format("{}, {}", one.row->list, one.row->place + 1), fmt::format("{}", one.row->number),
                         std::to_string(one.value), std::to_string(one.ratios.size()), fmt::format("{:.3f}", one.mean()),
                         fmt::format("{:.3f}", one.worst()), one.is_better() ? "better" : ""});
    return std::string(head) + summary(records, decisions) + "<h2>Where another candidate won</h2>\n" + picture(decisions) +
           "<h2>All points</h2>\n" + table(points) + "<h2>What one knob alone changes</h2>\n" +
           "<p>A row of generator/devices gives each knob its value. Others that were tried in its place:</p>\n" + table(knobs) +
           "<h2>What failed</h2>\n" + failures(records.trials) + "</body></html>\n";
}

}  // namespace trifold::tune
