#include "tools/tune/report/maps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "tools/tune/family.hpp"
#include "tools/tune/report/html.hpp"

namespace trifold::tune::report {
namespace {

/// A picture in which colours stand for numbers, on a logarithmic scale.
struct Scale {
    const char *name, *meaning;
    std::optional<double> (*value)(const Setting&, const Tuned&);
    std::string (*text)(double);
    bool is_reversed;                ///< the bright end is the better one
    std::optional<double> from, to;  ///< nothing: that of the setting's points
};

std::optional<double> gain_of(const Setting&, const Tuned& tuned) { return tuned.decision->gain(); }
std::optional<double> time_of(const Setting&, const Tuned& tuned) { return tuned.decision->seconds; }
std::optional<double> speed_of(const Setting&, const Tuned& tuned) {
    const auto count = flops(tuned.point);
    return count ? std::optional(*count / tuned.decision->seconds * 1e-9) : std::nullopt;
}
std::optional<double> fraction_of(const Setting& setting, const Tuned& tuned) {
    const auto least = floor_seconds(setting.machine, tuned.point);
    return least ? std::optional(*least / tuned.decision->seconds) : std::nullopt;
}

const Scale scales[] = {
    {"gain", "Time of the default over that of the winner", gain_of, ratio_html, false, 1.0, {}},
    {"speed", "Speed of the winner in GFLOP/s", speed_of, number_html, false, {}, {}},
    {"time", "Time of a call, arrays from memory (cold)", time_of, time_html, true, {}, {}},
    {"floor", "Least time that the device needs, over the time", fraction_of, percent_html, false, {}, 1.0},
};

/// The ends of a scale for the points of a setting; nothing where no point has a value.
struct Ends {
    double from = std::numeric_limits<double>::infinity(), to = -std::numeric_limits<double>::infinity();
    bool is_empty() const { return !(from <= to); }
};

Ends ends_of(const Scale& scale, const Setting& setting) {
    Ends ends;
    for (const auto& tuned : setting.points) {
        const auto value = tuned.decision ? scale.value(setting, tuned) : std::nullopt;
        if (!value) continue;
        ends.from = std::min(ends.from, *value);
        ends.to = std::max(ends.to, *value);
    }
    if (ends.is_empty()) return ends;
    ends.from = scale.from.value_or(ends.from);
    ends.to = scale.to.value_or(std::max(ends.to, scale.from ? 1.25 * *scale.from : ends.to));
    return ends;
}

double share_of(const Scale& scale, const Ends& ends, double value) {
    if (!(ends.from < ends.to)) return 0.5;
    const auto share = std::log(value / ends.from) / std::log(ends.to / ends.from);
    return scale.is_reversed ? 1 - share : share;
}

std::string swatch(std::string_view map, const Colour& colour, std::string_view html) {
    return fmt::format("<span class=\"{}{}\" style=\"background:{}\">{}</span>", map, colour.takes_dark_text ? " k" : "", colour.fill,
                       html);
}

/// The family, and in small letters what follows the colon.
std::string two_lines(const std::string& name) {
    const auto family = family_of(name);
    return escape(family) + (family == name ? "" : "<small>" + escape(name.substr(family.size() + 1)) + "</small>");
}

std::string cell_html(const Setting& setting, const Tuned& tuned, const std::vector<Ends>& ends, const Winners& winners) {
    std::string html;
    for (std::size_t k = 0; k < std::size(scales); ++k) {
        const auto value = scales[k].value(setting, tuned);
        html += value ? swatch(scales[k].name, scale_colour(share_of(scales[k], ends[k], *value)), scales[k].text(*value))
                      : fmt::format("<span class=\"{} unknown\">&ndash;</span>", scales[k].name);
    }
    const auto& [schedule, variant] = std::tie(tuned.decision->winner.schedule, tuned.decision->winner.variant);
    html += swatch("variant", category_colour(winners.variants.at(family_of(variant))), two_lines(variant));
    html += swatch("schedule", category_colour(winners.schedules.at(family_of(schedule))), escape(schedule));
    return fmt::format("<td tabindex=\"0\" title=\"{}\">{}</td>", details_html(setting, tuned), html);
}

/// One table: cells at two of both sizes and the number of members, the third of which is fixed.
struct Slice {
    std::string id;                                                          ///< "batch=16"
    std::string title;                                                       ///< "n by N, 16 systems"
    std::string down, across;                                                ///< what its rows and columns are: "N", "n"
    std::map<std::int64_t, std::map<std::int64_t, const Tuned*>> rows = {};  ///< by row, then by column
};

std::string slice_html(const Setting& setting, const Slice& slice, const std::vector<Ends>& ends, const Winners& winners) {
    std::set<std::int64_t> columns;
    for (const auto& [row, cells] : slice.rows)
        for (const auto& [n, tuned] : cells) columns.insert(n);
    auto html = fmt::format(
        "<div class=\"slice\" data-slice=\"{0}\" data-title=\"{1}\"><div class=\"scroll\" tabindex=\"0\" role=\"region\" "
        "aria-label=\"Heat map, {1}\"><table><caption>{1}</caption><thead><tr><th scope=\"col\" class=\"corner\">{2} "
        "&#8595; &ensp; {3} &#8594;</th>",
        slice.id, slice.title, slice.down, slice.across);
    for (const auto n : columns) html += fmt::format("<th scope=\"col\">{}</th>", n);
    html += "</tr></thead><tbody>";
    for (const auto& [row, cells] : slice.rows) {
        html += fmt::format("<tr><th scope=\"row\">{}</th>", row);
        for (const auto n : columns) {
            const auto found = cells.find(n);
            html += found == cells.end() ? "<td class=\"none\"></td>" : cell_html(setting, *found->second, ends, winners);
        }
        html += "</tr>\n";
    }
    return html + "</tbody></table></div></div>\n";
}

std::vector<Slice> slices_of(const Setting& setting) {
    std::map<std::int64_t, Slice> by_batch, by_long_side;
    for (const auto& tuned : setting.points) {
        if (!tuned.decision) continue;
        const auto& family = family_of(tuned.point);
        const auto &long_side = family.sizes[0], &side = family.sizes[1];
        const auto across = number_in(tuned.point, side.field), along = number_in(tuned.point, long_side.field),
                   batch = number_in(tuned.point, "batch");
        auto& flat = by_batch
                         .try_emplace(batch, Slice{fmt::format("batch={}", batch),
                                                   fmt::format("{} and {}, {} {}{}", side.label, long_side.label, batch, family.member,
                                                               batch == 1 ? "" : "s"),
                                                   long_side.label, side.label})
                         .first->second;
        flat.rows[along][across] = &tuned;
        const auto members = fmt::format("{}s", family.member);
        auto& deep = by_long_side
                         .try_emplace(along, Slice{fmt::format("{}={}", long_side.field, along),
                                                   fmt::format("{} and {}, {} = {}", side.label, members, long_side.label, along), members,
                                                   side.label})
                         .first->second;
        deep.rows[batch][across] = &tuned;
    }
    std::vector<Slice> slices;
    for (auto& [batch, slice] : by_batch) slices.push_back(std::move(slice));
    for (auto& [along, slice] : by_long_side)
        if (by_batch.size() > 1) slices.push_back(std::move(slice));
    return slices;
}

std::string scale_legend(const Scale& scale, const Ends& ends) {
    if (ends.is_empty()) return fmt::format("<p class=\"legend {}\">Not known here.</p>", scale.name);
    std::string stops;
    for (int k = 0; k <= 10; ++k) stops += fmt::format("{}{}", k > 0 ? "," : "", scale_colour(k / 10.0).fill);
    return fmt::format(
        "<p class=\"legend {}\"><span>{}</span><b>{}</b><i style=\"background:linear-gradient(to right,{})\"></i><b>{}</b></p>", scale.name,
        scale.meaning, scale.text(scale.is_reversed ? ends.to : ends.from), stops, scale.text(scale.is_reversed ? ends.from : ends.to));
}

std::string name_legend(const char* map, const std::map<std::string, std::size_t>& names, const std::set<std::string>& shown) {
    std::vector<std::pair<std::size_t, std::string>> sorted;
    for (const auto& [name, colour] : names)
        if (shown.contains(name)) sorted.emplace_back(colour, name);
    std::ranges::sort(sorted);
    auto html = fmt::format("<ul class=\"legend {}\">", map);
    for (const auto& [colour, name] : sorted)
        html += fmt::format("<li><i style=\"background:{}\"></i>{}</li>", category_colour(colour).fill, escape(name));
    return html + "</ul>\n";
}

std::string legends_html(const Setting& setting, const std::vector<Ends>& ends, const Winners& winners) {
    std::string html;
    for (std::size_t k = 0; k < std::size(scales); ++k) html += scale_legend(scales[k], ends[k]) + "\n";
    std::set<std::string> variants, schedules;
    for (const auto& tuned : setting.points) {
        if (!tuned.decision) continue;
        variants.insert(family_of(tuned.decision->winner.variant));
        schedules.insert(family_of(tuned.decision->winner.schedule));
    }
    return html + name_legend("variant", winners.variants, variants) + name_legend("schedule", winners.schedules, schedules);
}

double largest_gain(const Setting& setting) {
    double largest = 0;
    for (const auto& tuned : setting.points)
        if (tuned.decision) largest = std::max(largest, tuned.decision->gain());
    return largest;
}

std::string setting_html(const Setting& setting, const Winners& winners) {
    std::vector<Ends> ends;
    for (const auto& scale : scales) ends.push_back(ends_of(scale, setting));
    const auto objective = setting.objective + (setting.other.empty() ? "" : ", " + setting.other);
    auto html = fmt::format(
        "<section class=\"setting\" data-device=\"{0}\" data-precision=\"{1}\" data-objective=\"{2}\" data-gain=\"{3}\">"
        "<h3>{0} &middot; {1} &middot; {2}</h3>\n",
        escape(setting.device), escape(setting.precision), escape(objective), largest_gain(setting));
    html += legends_html(setting, ends, winners);
    for (const auto& slice : slices_of(setting)) html += slice_html(setting, slice, ends, winners);
    return html + "</section>\n";
}

std::map<std::string, std::size_t> numbered(const std::map<std::string, int>& counts) {
    std::vector<std::pair<int, std::string>> sorted;
    for (const auto& [name, count] : counts) sorted.emplace_back(-count, name);
    std::ranges::sort(sorted);
    std::map<std::string, std::size_t> numbers;
    for (const auto& [count, name] : sorted) numbers.emplace(name, numbers.size());
    return numbers;
}

}  // namespace

std::string family_of(const std::string& name) { return name.substr(0, name.find(':')); }

Winners winners_of(const Sweep& sweep) {
    std::map<std::string, int> variants, schedules;
    for (const auto& setting : sweep.settings)
        for (const auto& tuned : setting.points)
            if (tuned.decision) {
                ++variants[family_of(tuned.decision->winner.variant)];
                ++schedules[family_of(tuned.decision->winner.schedule)];
            }
    return {numbered(variants), numbered(schedules)};
}

std::string name_html(const Candidate& candidate) { return escape(candidate.schedule) + ", " + escape(candidate.variant); }

std::string details_html(const Setting& setting, const Tuned& tuned) {
    const auto& decision = *tuned.decision;
    auto html = fmt::format("{}\nwinner: {}, {} cold\ndefault: {}, {} cold\ngain {}, spread {}\n", escape(to_string(tuned.point)),
                            name_html(decision.winner), time_html(decision.seconds), name_html(decision.standard),
                            time_html(decision.standard_seconds), ratio_html(decision.gain()), percent_html(decision.spread));
    if (const auto* second = runner_up(tuned))
        html += fmt::format("runner-up: {}, {}\n", name_html(second->trial->candidate), time_html(second->seconds));
    if (const auto speed = speed_of(setting, tuned)) html += fmt::format("{} GFLOP/s", number_html(*speed));
    if (const auto fraction = fraction_of(setting, tuned)) html += fmt::format(", {} of the floor", percent_html(*fraction));
    return html + fmt::format("\n{} trials, effort {}", decision.trials, escape(decision.effort));
}

std::string maps_html(const Sweep& sweep, const Winners& winners) {
    std::string html;
    for (const auto& setting : sweep.settings)
        if (std::ranges::any_of(setting.points, [](const Tuned& tuned) { return tuned.decision != nullptr; }))
            html += setting_html(setting, winners);
    return html.empty() ? "<p>No point has been decided yet, so there is nothing to draw.</p>\n" : html;
}

}  // namespace trifold::tune::report
