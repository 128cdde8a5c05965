#include "picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace kalman {
namespace {

constexpr int panel_columns = 4;
constexpr double panel_width = 340, panel_height = 300, margin = 24, heading = 84;
constexpr double left = 52, right = 10, top = 46, trend_height = 138, gap = 14, difference_height = 58;

struct Range {
    double low, high;
};

/// Data coordinates of a panel's part to the page's.
struct Axes {
    double x, y, width, height;
    Range time, value;
    double across(double t) const { return x + width * (t - time.low) / (time.high - time.low); }
    double down(double v) const { return y + height * (value.high - v) / (value.high - value.low); }
};

Range padded(const Eigen::VectorXd& values) {
    const auto low = values.minCoeff(), high = values.maxCoeff();
    const auto pad = 0.06 * (high - low);
    return {low - pad, high + pad};
}

/// Round numbers of a linear axis: 1, 2 or 5 times a power of ten apart.
std::vector<double> linear_ticks(const Range& range, int most) {
    const auto rough = (range.high - range.low) / most;
    const auto power = std::pow(10, std::floor(std::log10(rough)));
    double step = 10 * power;
    for (const double factor : {5, 2, 1}) {
        if (factor * power >= rough) step = factor * power;
    }
    std::vector<double> ticks;
    for (auto k = std::ceil(range.low / step); k * step <= range.high; ++k) ticks.push_back(k * step + 0.0);  // no -0
    return ticks;
}

/// Zero and the largest 1, 2 or 5 times a power of ten to either side.
std::vector<double> symmetric_ticks(double reach) {
    const auto power = std::pow(10, std::floor(std::log10(reach)));
    const auto factor = 5 * power <= reach ? 5 : 2 * power <= reach ? 2 : 1;
    return {-factor * power, 0, factor * power};
}

/// Round numbers of the logarithmic axis of a growing series: as few of 1, 2, 5 a decade as give two ticks, else linear ones.
std::vector<double> growth_ticks(const Series& series, const Range& range) {
    std::vector<double> ticks;
    const auto low = from_state(series, range.low), high = from_state(series, range.high);
    for (auto power = std::pow(10, std::floor(std::log10(low))); power <= high; power *= 10) {
        for (const double factor : {1, 2, 5}) {
            if (factor * power >= low && factor * power <= high) ticks.push_back(factor * power);
        }
    }
    if (ticks.size() < 3) ticks = linear_ticks({low, high}, 4);
    return ticks;
}

std::string points(const Axes& axes, const Table& table, const Eigen::VectorXd& values) {
    std::string result;
    for (Eigen::Index t = 0; t < values.size(); ++t) {
        if (std::isnan(values(t))) continue;
        const auto year = table.year[static_cast<std::size_t>(t)] + (table.quarter[static_cast<std::size_t>(t)] - 0.5) / 4;
        result += fmt::format("{:.1f},{:.1f} ", axes.across(year), axes.down(values(t)));
    }
    return result;
}

std::string line(const Axes& axes, const Table& table, const Eigen::VectorXd& values, const char* style) {
    return fmt::format("<polyline class=\"{}\" points=\"{}\"/>\n", style, points(axes, table, values));
}

std::string band(const Axes& axes, const Table& table, const Eigen::VectorXd& middle, const Eigen::VectorXd& half_width) {
    auto backwards = table;
    std::ranges::reverse(backwards.year);
    std::ranges::reverse(backwards.quarter);
    const Eigen::VectorXd low = (middle - half_width).reverse();
    return fmt::format("<polygon class=\"band\" points=\"{}{}\"/>\n", points(axes, table, middle + half_width),
                       points(axes, backwards, low));
}

std::string label(double value) { return value >= 10000 ? fmt::format("{:g}k", value / 1000) : fmt::format("{:g}", value); }

/// Frame, grid and tick labels. `position` takes a tick to the axis.
std::string frame(const Axes& axes, const std::vector<double>& ticks, const std::function<double(double)>& position, bool years) {
    std::string result;
    for (const auto tick : ticks) {
        const auto y = axes.down(position(tick));
        result += fmt::format("<line class=\"grid\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>", axes.x, y,
                              axes.x + axes.width, y);
        result +=
            fmt::format("<text class=\"tick\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", axes.x - 5, y + 3.5, label(tick));
    }
    for (double year = std::ceil(axes.time.low / 10) * 10; year <= axes.time.high; year += 10) {
        const auto x = axes.across(year);
        result += fmt::format("<line class=\"grid\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>", x, axes.y, x,
                              axes.y + axes.height);
        if (years)
            result += fmt::format("<text class=\"tick\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{:.0f}</text>\n", x,
                                  axes.y + axes.height + 14, year);
    }
    return result + fmt::format("<rect class=\"frame\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>\n", axes.x, axes.y,
                                axes.width, axes.height);
}

std::string panel(double x, double y, const Table& table, const Series& series, const Eigen::VectorXd& data, const Eigen::VectorXd& trend,
                  const Eigen::VectorXd& sigma) {
    const Range time{static_cast<double>(table.year.front()), table.year.back() + 1.0};
    const auto width = panel_width - left - right;
    Eigen::VectorXd seen = data;
    for (Eigen::Index t = 0; t < seen.size(); ++t) seen(t) = std::isnan(seen(t)) ? trend(t) : seen(t);
    const Axes above{x + left, y + top, width, trend_height, time, padded(seen)};
    const Eigen::VectorXd difference = data - trend, none = Eigen::VectorXd::Zero(data.size());
    const auto reach = 1.08 * std::max((seen - trend).lpNorm<Eigen::Infinity>(), 2 * sigma.maxCoeff());
    const Axes below{x + left, y + top + trend_height + gap, width, difference_height, time, {-reach, reach}};
    const auto ticks = series.grows ? growth_ticks(series, above.value) : linear_ticks(above.value, 4);

    auto result = fmt::format("<text class=\"title\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", x + left, y + 20, series.title);
    result += fmt::format("<text class=\"unit\" x=\"{:.1f}\" y=\"{:.1f}\">{}{}</text>\n", x + left, y + 36, series.unit,
                          series.grows ? ", log scale" : "");
    result += frame(above, ticks, [&](double tick) { return series.grows ? to_state(series, tick) : tick; }, false);
    result += band(above, table, trend, 2 * sigma) + line(above, table, trend, "trend") + line(above, table, data, "data");
    result += frame(below, symmetric_ticks(reach), [](double tick) { return tick; }, true);
    result += band(below, table, none, 2 * sigma) + line(below, table, none, "trend") + line(below, table, difference, "data");
    return result;
}

std::string legend(double x, double y) {
    return fmt::format(
        "<polyline class=\"data\" points=\"{0},{1} {2},{1}\"/><text class=\"unit\" x=\"{3}\" y=\"{4}\">data</text>"
        "<rect class=\"band\" x=\"{5}\" y=\"{6}\" width=\"28\" height=\"12\"/><polyline class=\"trend\" points=\"{5},{1} {7},{1}\"/>"
        "<text class=\"unit\" x=\"{8}\" y=\"{4}\">smoothed trend, two standard deviations to either side</text>\n",
        x, y, x + 28, x + 34, y + 4, x + 84, y - 6, x + 112, x + 118);
}

}  // namespace

std::string draw_trends(const Table& table, const std::vector<Series>& series, const Smoothed& smoothed) {
    const auto rows = (static_cast<int>(series.size()) + panel_columns - 1) / panel_columns;
    const auto width = panel_columns * panel_width + 2 * margin, height = rows * panel_height + heading + margin;
    auto svg = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\">\n"
        "<style>text{{font-family:Helvetica,Arial,sans-serif;fill:#222}}.head{{font-size:20px;font-weight:bold}}.title{{font-size:14px;"
        "font-weight:bold}}"
        ".unit{{font-size:11px;fill:#666}}.tick{{font-size:10px;fill:#444}}.grid{{stroke:#e4e4e4;stroke-width:1}}"
        ".frame{{fill:none;stroke:#999;stroke-width:1}}.data{{fill:none;stroke:#222;stroke-width:1}}"
        ".trend{{fill:none;stroke:#c8553d;stroke-width:1.8}}.band{{fill:#c8553d;fill-opacity:0.25}}</style>\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
        width, height);
    svg += fmt::format(
        "<text class=\"head\" x=\"{}\" y=\"34\">Twelve series of the United States economy, {} to {}, and their smoothed trends</text>\n",
        margin, table.year.front(), table.year.back());
    svg += fmt::format(
        "<text class=\"unit\" x=\"{}\" y=\"54\">Local linear trend, Kalman smoother. Lower parts: data less trend, in percent of the trend "
        "(rates: in percentage points).</text>\n",
        margin);
    svg += legend(margin, 70);
    for (std::size_t i = 0; i < series.size(); ++i) {
        const auto k = static_cast<Eigen::Index>(i);
        svg += panel(margin + panel_width * static_cast<double>(k % panel_columns),
                     heading + panel_height * static_cast<double>(k / panel_columns), table, series[i], table.values.row(k),
                     smoothed.mean.row(2 * k), smoothed.deviation.row(2 * k));
    }
    return svg + "</svg>\n";
}

}  // namespace kalman
