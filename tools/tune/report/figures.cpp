#include "tools/tune/report/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tools/tune/report/html.hpp"

namespace trifold::tune::report {
namespace {

constexpr double box_width = 220;

/// `most` is at the right end; the scale is logarithmic.
std::string box_svg(const std::vector<double>& ratios, double most) {
    const auto place = [&](double share) { return 4 + (box_width - 8) * std::log(quantile(ratios, share)) / std::log(most); };
    return fmt::format(
        "<svg viewBox=\"0 0 {:.0f} 22\" width=\"{:.0f}\" height=\"22\" aria-hidden=\"true\"><path class=\"axis\" d=\"M4 3V19\"/>"
        "<path class=\"whisker\" d=\"M{:.1f} 11H{:.1f}M{:.1f} 7V15M{:.1f} 7V15\"/><rect class=\"box\" x=\"{:.1f}\" y=\"4\" "
        "width=\"{:.1f}\" "
        "height=\"14\" rx=\"2\"/><path class=\"median\" d=\"M{:.1f} 3V19\"/></svg>",
        box_width, box_width, place(0), place(1), place(0), place(1), place(0.25), std::max(1.0, place(0.75) - place(0.25)), place(0.5));
}

/// "32 1.04x" of each value, the best first.
std::string values_html(const Effect& effect) {
    constexpr std::size_t most_shown = 6;
    std::vector<std::pair<double, std::string>> values;
    for (const auto& [value, ratios] : effect.values) values.emplace_back(geometric_mean(ratios), value);
    std::ranges::sort(values);
    std::string html;
    for (std::size_t k = 0; k < std::min(values.size(), most_shown); ++k)
        html += fmt::format("<span class=\"value\">{} <small>{}</small></span> ", escape(values[k].second), ratio_html(values[k].first));
    if (values.size() > most_shown) html += fmt::format("<small>and {} more</small>", values.size() - most_shown);
    return html;
}

/// A figure with axes: x from 0 to `most_x` and y from `low` to `high`, with the text of some places.
class Chart {
  public:
    Chart(double most_x, double low, double high) : most_x_(most_x), low_(low), high_(high) {}
    double x(double value) const { return left + (width - left - right) * value / most_x_; }
    double y(double value) const { return bottom - (bottom - top) * (value - low_) / (high_ - low_); }

    void tick_x(double value) {
        body_ += fmt::format("<text class=\"mid\" x=\"{:.1f}\" y=\"{:.1f}\">{:.0f}</text>", x(value), bottom + 18, value);
    }
    void tick_y(double value, const std::string& html) {
        body_ +=
            fmt::format("<path class=\"grid\" d=\"M{0:.1f} {1:.1f}H{2:.1f}\"/><text class=\"end\" x=\"{3:.1f}\" y=\"{4:.1f}\">{5}</text>",
                        left, y(value), width - right, left - 8, y(value) + 4, html);
    }
    void title_x(const std::string& html) {
        body_ += fmt::format("<text class=\"mid\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", (left + width - right) / 2, bottom + 38, html);
    }
    /// From x = 1 on, a value a step.
    void steps(const std::vector<double>& values) {
        std::string path;
        for (std::size_t k = 0; k < values.size(); ++k)
            path += k == 0 ? fmt::format("M{:.1f} {:.1f}", x(1), y(values[0]))
                           : fmt::format("H{:.1f}V{:.1f}", x(static_cast<double>(k + 1)), y(values[k]));
        body_ += fmt::format("<path class=\"curve\" d=\"{}H{:.1f}\"/>", path, x(most_x_));
    }
    void bar(double from, double to, double value, const std::string& html) {
        body_ += fmt::format("<rect class=\"bar\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"><title>{}</title></rect>",
                             x(from) + 1, y(value), x(to) - x(from) - 2, bottom - y(value), html);
    }
    void text_x(double value, const std::string& html) {
        body_ += fmt::format("<text class=\"mid\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", x(value), bottom + 18, html);
    }
    std::string svg(const std::string& label) const {
        return fmt::format("<svg class=\"chart\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\">{}</svg>", width, bottom + 46,
                           label, body_);
    }

  private:
    static constexpr double width = 400, left = 54, right = 12, top = 12, bottom = 210;
    double most_x_, low_, high_;
    std::string body_;
};

/// About five steps of 1, 2 or 5 times a power of ten.
double step_of(double most) {
    const auto power = std::pow(10, std::floor(std::log10(std::max(most, 5.0) / 5)));
    for (const auto factor : {1.0, 2.0, 5.0})
        if (factor * power * 6 >= most) return factor * power;
    return 10 * power;
}

std::string near_chart(const Progress& progress, double most) {
    Chart chart(most, 0, 1);
    for (const auto share : {0.0, 0.25, 0.5, 0.75, 1.0}) chart.tick_y(share, fmt::format("{:.0f} %", 100 * share));
    for (double tick = 0; tick <= most; tick += step_of(most)) chart.tick_x(tick);
    chart.title_x("candidates tried");
    std::vector<double> shares;
    for (int k = 1; k <= static_cast<int>(most); ++k) {
        const auto near = std::ranges::count_if(progress.needed, [&](double needed) { return needed <= k; });
        shares.push_back(static_cast<double>(near) / static_cast<double>(progress.needed.size()));
    }
    chart.steps(shares);
    return chart.svg("Share of points within 2 % of their best, over candidates tried");
}

std::string regret_chart(const Progress& progress, double most) {
    const auto high = std::max(1.05, std::ranges::max(progress.regret));
    Chart chart(most, 1, high);
    for (int k = 0; k <= 4; ++k) chart.tick_y(1 + k * (high - 1) / 4, ratio_html(1 + k * (high - 1) / 4));
    for (double tick = 0; tick <= most; tick += step_of(most)) chart.tick_x(tick);
    chart.title_x("candidates tried");
    chart.steps(progress.regret);
    return chart.svg("Best time so far over the best of all, geometric mean, over candidates tried");
}

}  // namespace

std::string effects_html(const std::vector<Effect>& effects) {
    if (effects.empty()) return "<p>No two candidates of a point differ in one knob alone, so there is nothing to compare.</p>\n";
    double most = 1.05;
    for (const auto& effect : effects) most = std::max(most, std::ranges::max(effect.ratios));
    auto html = fmt::format(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Knobs\"><table class=\"rows effects\"><caption>Time with the "
        "worst value over time with "
        "the best, all else equal: boxes from 1 (left) to {}</caption><thead><tr><th scope=\"col\">variant</th><th scope=\"col\">knob</th>"
        "<th scope=\"col\" class=\"num\">median</th><th scope=\"col\" class=\"num\">largest</th><th scope=\"col\">over points</th><th "
        "scope=\"col\" "
        "class=\"num\">compared</th><th scope=\"col\">values, by their mean distance from the best</th></tr></thead><tbody>\n",
        ratio_html(most));
    for (const auto& effect : effects)
        html += fmt::format(
            "<tr><td>{}</td><th scope=\"row\">{}</th><td class=\"num\">{}</td><td class=\"num\">{}</td><td>{}</td><td class=\"num\">{}</td>"
            "<td class=\"values\">{}</td></tr>\n",
            escape(effect.variant), escape(effect.knob), ratio_html(quantile(effect.ratios, 0.5)),
            ratio_html(std::ranges::max(effect.ratios)), box_svg(effect.ratios, most), effect.ratios.size(), values_html(effect));
    return html + "</tbody></table></div>\n";
}

std::string progress_html(const Progress& progress) {
    if (progress.needed.empty()) return "<p>No point has two candidates, so there was nothing to search.</p>\n";
    const auto most = std::max(2.0, static_cast<double>(progress.regret.size()));
    return fmt::format(
        "<p>Half of the {} points had a candidate within 2 % of their best after {:.0f} trials, nine in ten after {:.0f}.</p>\n<div "
        "class=\"pair\"><figure><figcaption>Points within 2 % of their best</figcaption>{}</figure>\n<figure><figcaption>Best so far over "
        "the best "
        "of all, geometric mean</figcaption>{}</figure></div>\n",
        progress.needed.size(), std::ceil(quantile(progress.needed, 0.5)), std::ceil(quantile(progress.needed, 0.9)),
        near_chart(progress, most), regret_chart(progress, most));
}

std::string gains_html(const Sweep& sweep) {
    constexpr double edges[] = {0, 1.005, 1.05, 1.1, 1.25, 1.5, 2, 3, HUGE_VAL};
    const char* const names[] = {"none", "&lt;1.05", "&lt;1.1", "&lt;1.25", "&lt;1.5", "&lt;2", "&lt;3", "more"};
    constexpr auto bars = std::size(edges) - 1;
    std::vector<double> counts(bars, 0.0);
    for (const auto& setting : sweep.settings)
        for (const auto& tuned : setting.points)
            if (tuned.decision) ++counts[static_cast<std::size_t>(std::ranges::upper_bound(edges, tuned.decision->gain()) - edges) - 1];
    const auto most = std::ranges::max(counts);
    if (most == 0) return "";
    Chart chart(static_cast<double>(bars), 0, most);
    for (double tick = 0; tick <= most; tick += std::max(1.0, step_of(most))) chart.tick_y(tick, fmt::format("{:.0f}", tick));
    for (std::size_t k = 0; k < bars; ++k) {
        const auto from = static_cast<double>(k);
        chart.bar(from, from + 1, counts[k], fmt::format("{:.0f} points", counts[k]));
        chart.text_x(from + 0.5, names[k]);
    }
    chart.title_x("gain over the default");
    return "<figure><figcaption>Points by their gain</figcaption>" + chart.svg("Number of points by gain over the default") + "</figure>\n";
}

}  // namespace trifold::tune::report
