#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "tools/trifold/sparse/options.hpp"

namespace trifold::command {
namespace {

constexpr double width = 720, height = 420, left = 64, right = 24, top = 40, bottom = 48;
constexpr std::size_t max_points = 1000;  // of a line: more cannot be told apart
constexpr std::array colours{"#4269d0", "#ef9c20", "#d1495b", "#3a9e8f", "#6d4c9f", "#8c6d46", "#c06c9b", "#666666"};

class Plot {
  public:
    Plot(const std::vector<std::vector<double>>& histories, double tolerance) : histories_(histories), tolerance_(tolerance) {
        take(tolerance);
        for (const auto& history : histories) {
            max_ = std::max(max_, history.size());
            for (const auto residual : history) take(residual);
        }
        low_ = std::floor(low_);
        high_ = std::max(std::ceil(high_), low_ + 1);
    }
    std::string draw() {
        text_ = fmt::format(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
            "font-family=\"sans-serif\" font-size=\"12\" fill=\"#333\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"#fff\"/>\n",
            width, height);
        label(left, top - 16, "start", "|b - A x| / |b| after each iteration");
        decades();
        iterations();
        if (tolerance_ > 0) line(left, y(tolerance_), width - right, y(tolerance_), "#333", "stroke-dasharray=\"5 4\"");
        for (std::size_t k = 0; k < histories_.size(); ++k) curve(histories_[k], colours[k % colours.size()]);
        return text_ + "</svg>\n";
    }

  private:
    static bool is_drawn(double residual) { return std::isfinite(residual) && residual > 0; }
    void take(double residual) {
        if (!is_drawn(residual)) return;
        low_ = std::min(low_, std::log10(residual));
        high_ = std::max(high_, std::log10(residual));
    }
    double x(std::size_t iteration) const {
        return left + (width - left - right) * static_cast<double>(iteration) / static_cast<double>(std::max<std::size_t>(max_, 2) - 1);
    }
    double y(double residual) const { return top + (height - top - bottom) * (high_ - std::log10(residual)) / (high_ - low_); }
    void label(double at_x, double at_y, const char* anchor, const std::string& words) {
        text_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", at_x, at_y, anchor, words);
    }
    void line(double x1, double y1, double x2, double y2, const char* colour, const char* more = "") {
        text_ +=
            fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" {}/>\n", x1, y1, x2, y2, colour, more);
    }
    void decades() {
        const auto all = static_cast<int>(high_ - low_), every = (all + 7) / 8;
        for (int k = 0; k <= all; k += every) {
            const auto exponent = static_cast<int>(low_) + k;
            const auto at = y(std::pow(10.0, exponent));
            line(left, at, width - right, at, "#ddd");
            label(left - 8, at + 4, "end", fmt::format("1e{}", exponent));
        }
    }
    void iterations() {
        const auto last = std::max<std::size_t>(max_, 2) - 1;
        for (const auto iteration : {std::size_t{0}, last / 2, last})
            label(x(iteration), height - bottom + 20, "middle", fmt::format("{}", iteration));
        label(left + (width - left - right) / 2, height - 10, "middle", "iterations");
    }
    void curve(const std::vector<double>& history, const char* colour) {
        std::string points;
        const auto every = std::max<std::size_t>(1, history.size() / max_points);
        for (std::size_t k = 0; k < history.size(); ++k) {
            if (!is_drawn(history[k])) break;
            if (k % every == 0 || k + 1 == history.size()) points += fmt::format("{:.1f},{:.1f} ", x(k), y(history[k]));
        }
        text_ += fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.6\"/>\n", points, colour);
    }

    const std::vector<std::vector<double>>& histories_;
    double tolerance_;
    double low_ = 0, high_ = 0;  // powers of ten
    std::size_t max_ = 0;        // residuals of a line
    std::string text_;
};

}  // namespace

std::string convergence_svg(const std::vector<std::vector<double>>& histories, double tolerance) {
    return Plot(histories, tolerance).draw();
}

}  // namespace trifold::command
