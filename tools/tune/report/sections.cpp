#include "tools/tune/report/sections.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "tools/tune/family.hpp"
#include "tools/tune/report/html.hpp"
#include "tools/tune/report/maps.hpp"

namespace trifold::tune::report {
namespace {

std::string card(const std::string& number, const std::string& what) {
    return fmt::format("<div class=\"card\"><b>{}</b><span>{}</span></div>\n", number, what);
}

/// A gain that counts as one: what tuning changes by less is left at the default.
constexpr double faster = 1.005;

struct Found {
    std::size_t points = 0, open = 0;  ///< the latter have no decision
    std::vector<double> gains = {};
    const Tuned* largest = nullptr;
    const Setting* where = nullptr;  ///< of the largest
};

/// Words that tell points of equal sizes apart: none where there is one setting.
std::string apart(const Sweep& sweep, const Setting& setting) {
    if (sweep.settings.size() < 2) return "";
    return fmt::format(", {}, {}", setting.device, setting.objective) + (setting.other.empty() ? "" : ", " + setting.other);
}

Found found_in(const Sweep& sweep) {
    Found found;
    for (const auto& setting : sweep.settings)
        for (const auto& tuned : setting.points) {
            ++found.points;
            if (!tuned.decision) {
                ++found.open;
                continue;
            }
            found.gains.push_back(tuned.decision->gain());
            if (found.largest && !(tuned.decision->gain() > found.largest->decision->gain())) continue;
            found.largest = &tuned;
            found.where = &setting;
        }
    return found;
}

std::string sentence(const Sweep& sweep, const Found& found) {
    if (found.points == 0) return "There are no records: nothing has been tuned yet.";
    if (found.gains.empty()) return "No point has been decided yet: the sweep has trials only.";
    const auto better = std::ranges::count_if(found.gains, [](double gain) { return gain > faster; });
    if (better == 0) return "The default was as fast as anything that was tried, at every point.";
    return fmt::format("Tuning made {} of {} points faster than the default. The largest gain is {}, at <b>{}</b>{}.", better,
                       found.gains.size(), ratio_html(found.largest->decision->gain()), escape(to_string(found.largest->point)),
                       escape(apart(sweep, *found.where)));
}

std::string_view meaning(Verdict verdict) {
    switch (verdict) {
        case Verdict::refused:
            return "refused by the generator";
        case Verdict::does_not_compile:
            return "did not compile, or the compiler crashed";
        case Verdict::spilled:
            return "spilled registers because of its knobs";
        case Verdict::too_large:
            return "did not fit the device's memory";
        case Verdict::fails:
            return "could not be launched";
        case Verdict::times_out:
            return "took too long to compile or to run";
        case Verdict::inaccurate:
            return "had too large a residual";
        case Verdict::disagrees:
            return "disagreed with the default";
        case Verdict::sound:
            break;
    }
    return "";
}

/// What went wrong with how many trials, and one of them.
struct Reason {
    std::size_t count = 0;
    const Trial* example = nullptr;
};

std::string reasons_html(const std::map<std::string, Reason>& reasons) {
    constexpr std::size_t most_shown = 100;
    std::vector<std::pair<std::string, Reason>> sorted(reasons.begin(), reasons.end());
    std::ranges::stable_sort(sorted, std::greater<>{}, [](const auto& item) { return item.second.count; });
    std::string html =
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Reasons\"><table class=\"rows\"><thead><tr><th scope=\"col\" "
        "class=\"num\">trials</th>"
        "<th scope=\"col\">reason</th><th scope=\"col\">one of them</th></tr></thead><tbody>\n";
    for (std::size_t k = 0; k < std::min(sorted.size(), most_shown); ++k) {
        const auto& [why, reason] = sorted[k];
        html += fmt::format("<tr><td class=\"num\">{}</td><td class=\"why\">{}</td><td>{}: {}</td></tr>\n", reason.count,
                            why.empty() ? "(none given)" : escape(why), escape(to_string(reason.example->point)),
                            name_html(reason.example->candidate));
    }
    html += "</tbody></table></div>";
    if (sorted.size() > most_shown) html += fmt::format("<p>{} rarer reasons are in the records.</p>", sorted.size() - most_shown);
    return html;
}

/// With its number, by which a column is sorted.
std::string number_cell(double value, const std::string& html) {
    return fmt::format("<td class=\"num\" data-sort=\"{}\">{}</td>", std::isfinite(value) ? value : -1, html);
}

bool is_known(const Decision& decision) { return std::isfinite(decision.gain()) && decision.gain() > 0; }

std::string decision_html(const Decision& decision, const std::string& device) {
    const auto& sizes = family_of(decision.point).sizes;
    const auto size = [&](std::string_view field) { return number_in(decision.point, field); };
    const auto number = [](std::int64_t value) { return number_cell(static_cast<double>(value), fmt::format("{}", value)); };
    const auto gain = decision.gain();
    return fmt::format("<tr><th scope=\"row\">{}</th>", escape(to_string(decision.point))) + number(size(sizes[1].field)) +
           number(size(sizes[0].field)) + number(size("batch")) + number_cell(gain, is_known(decision) ? ratio_html(gain) : "&ndash;") +
           number_cell(decision.seconds, time_html(decision.seconds)) +
           number_cell(decision.standard_seconds, time_html(decision.standard_seconds)) +
           number_cell(decision.spread, percent_html(decision.spread)) +
           fmt::format("<td>{}</td><td>{}</td>", name_html(decision.winner), name_html(decision.standard)) + number(decision.trials) +
           fmt::format("<td>{}</td><td>{}</td></tr>\n", escape(decision.effort), escape(device));
}

/// The largest first, and those without one last.
std::vector<const Decision*> by_gain(const std::vector<Decision>& decisions) {
    std::vector<const Decision*> sorted;
    for (const auto& decision : decisions) sorted.push_back(&decision);
    const auto gain = [](const Decision* decision) { return std::isfinite(decision->gain()) ? decision->gain() : -1; };
    std::ranges::stable_sort(sorted, std::greater<>{}, gain);
    return sorted;
}

/// Headings of the columns of sizes, for all families that are there.
std::array<std::string, 3> size_headings(const std::vector<Decision>& decisions) {
    std::array<std::vector<std::string>, 3> names;
    for (const auto& decision : decisions) {
        const auto& family = family_of(decision.point);
        const std::array<std::string, 3> own{family.sizes[1].label, family.sizes[0].label, fmt::format("{}s", family.member)};
        for (std::size_t k = 0; k < own.size(); ++k)
            if (std::ranges::find(names[k], own[k]) == names[k].end()) names[k].push_back(own[k]);
    }
    return {fmt::format("{}", fmt::join(names[0], ", ")), fmt::format("{}", fmt::join(names[1], ", ")),
            fmt::format("{}", fmt::join(names[2], ", "))};
}

}  // namespace

std::string summary_html(const Sweep& sweep, const std::vector<Trial>& trials) {
    const auto found = found_in(sweep);
    const auto failures = std::ranges::count_if(trials, [](const Trial& trial) { return trial.verdict != Verdict::sound; });
    double took = 0;
    for (const auto& trial : trials) took += std::isfinite(trial.took) ? trial.took : 0;
    auto html = "<p class=\"lead\">" + sentence(sweep, found) + "</p>\n<div class=\"cards\">\n";
    html += card(found.gains.empty() ? "&ndash;" : ratio_html(geometric_mean(found.gains)), "faster than the default, geometric mean");
    html += card(size_html(found.points), found.open == 0 ? "points" : fmt::format("points, {} of them undecided", found.open));
    html += card(size_html(trials.size()), "trials");
    html += card(size_html(static_cast<std::size_t>(failures)), "of them failed");
    if (took > 0) html += card(time_html(took), "spent on trials");
    html += "</div>\n";
    if (sweep.unusable > 0)
        html += fmt::format("<p class=\"note\">Records without usable times: {}. They are in the data below, and count nowhere else.</p>\n",
                            sweep.unusable);
    return html;
}

std::string machines_html(const Sweep& sweep) {
    std::set<std::string> rows;
    for (const auto& [machine, generator, device, precision, objective, other, points] : sweep.settings)
        rows.insert(fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td></tr>\n", escape(machine.device),
                                escape(machine.target), machine.driver.empty() ? "&ndash;" : escape(machine.driver), escape(generator)));
    if (rows.empty()) return "";
    std::string html =
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Devices\"><table class=\"rows\"><caption>Measured "
        "on</caption><thead><tr><th scope=\"col\">"
        "device</th><th scope=\"col\">target</th><th scope=\"col\">driver</th><th scope=\"col\">generator</th></tr></thead><tbody>\n";
    for (const auto& row : rows) html += row;
    return html + "</tbody></table></div>\n";
}

std::string failures_html(const std::vector<Trial>& trials) {
    std::map<Verdict, std::map<std::string, Reason>> verdicts;
    std::map<Verdict, std::size_t> counts;
    for (const auto& trial : trials) {
        if (trial.verdict == Verdict::sound) continue;
        auto& reason = verdicts[trial.verdict][trial.why];
        ++reason.count;
        ++counts[trial.verdict];
        reason.example = &trial;
    }
    if (verdicts.empty()) return "<p>No trial failed.</p>\n";
    std::string html;
    for (const auto& [verdict, reasons] : verdicts)
        html += fmt::format("<details><summary><b>{}</b> {} <small>({})</small></summary>{}</details>\n", size_html(counts[verdict]),
                            meaning(verdict), to_string(verdict), reasons_html(reasons));
    return html;
}

std::string decisions_html(const Sweep& sweep, const std::vector<Decision>& decisions) {
    if (decisions.empty()) return "<p>No point has been decided yet.</p>\n";
    std::string html =
        "<div class=\"scroll tall\" tabindex=\"0\" role=\"region\" aria-label=\"Decisions\"><table class=\"rows sortable\"><caption>Click "
        "on a column's name to sort by it."
        "</caption><thead><tr>";
    const auto [side, long_side, members] = size_headings(decisions);
    for (const auto& column : {std::string("point"), side, long_side, members}) html += fmt::format("<th scope=\"col\">{}</th>", column);
    for (const auto* column :
         {"gain", "winner's time (cold)", "default's time (cold)", "spread", "winner", "default", "trials", "effort", "device"})
        html += fmt::format("<th scope=\"col\"{}>{}</th>", column == std::string_view("gain") ? " aria-sort=\"descending\"" : "", column);
    html += "</tr></thead><tbody>\n";
    std::map<const Decision*, std::string> devices;
    for (const auto& setting : sweep.settings)
        for (const auto& tuned : setting.points)
            if (tuned.decision) devices[tuned.decision] = setting.device + (setting.other.empty() ? "" : ", " + setting.other);
    for (const auto* decision : by_gain(decisions)) {
        const auto found = devices.find(decision);
        const auto other = decision->machine.device + (is_known(*decision) ? ", replaced by a later decision" : "");
        html += decision_html(*decision, found == devices.end() ? other : found->second);
    }
    return html + "</tbody></table></div>\n";
}

}  // namespace trifold::tune::report
