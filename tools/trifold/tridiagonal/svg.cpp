#include "tools/trifold/tridiagonal/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "tools/trifold/text.hpp"

namespace trifold::command {
namespace {

constexpr double left_margin = 190, right_margin = 40, top_margin = 64, axis_height = 44, legend_height = 56;
constexpr double narrowest = 780, widest = 1500, roomy_pitch = 38;
constexpr double min_chain_pitch = 7;  // pixels; closer chains are drawn as one band
constexpr double min_dot_pitch = 7;    // pixels between fronts that get a dot of their own
constexpr std::array colours{"#4269d0", "#e39802", "#e4503c", "#2f9e8f", "#7c4fc4", "#c2407f", "#3c8f3c", "#8a5a3b"};

std::string escaped(const std::string& text) {
    std::string result;
    for (const char c : text) {
        if (c == '<')
            result += "&lt;";
        else if (c == '&')
            result += "&amp;";
        else
            result += c;
    }
    return result;
}

class Drawing {
  public:
    explicit Drawing(const Schedule& schedule)
        : schedule_(schedule),
          plot_(std::clamp(static_cast<double>(schedule.horizon) * roomy_pitch, narrowest - left_margin - right_margin,
                           widest - left_margin - right_margin)),
          pitch_(std::min(plot_ / static_cast<double>(schedule.horizon), 2 * roomy_pitch)),
          row_(schedule.levels.size() > 6 ? 72 : 96),
          height_(top_margin + row_ * static_cast<double>(schedule.levels.size()) + axis_height + legend_height) {}

    std::string draw(const std::string& title) {
        const auto width = left_margin + plot_ + right_margin;
        text_ = fmt::format(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
            "font-family=\"Helvetica, Arial, sans-serif\" font-size=\"12\" fill=\"#333\">\n"
            "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
            width, height_);
        label(20, 30, "start", 17, "#111", title);
        for (std::size_t k = 0; k < levels(); ++k) lane(k, width);
        axis();
        for (std::size_t k = 0; k < levels(); ++k) draw_level(k, &Drawing::edges);  // below every front
        for (std::size_t k = 0; k < levels(); ++k) draw_level(k, &Drawing::fronts);
        legend();
        return text_ + "</svg>\n";
    }

  private:
    using DrawChain = void (Drawing::*)(std::size_t level, const Run& run, std::int64_t chain);

    std::size_t levels() const { return schedule_.levels.size(); }
    double x(std::int64_t block) const { return left_margin + (static_cast<double>(block) + 0.5) * pitch_; }
    double y(std::size_t level) const { return top_margin + row_ * (static_cast<double>(levels() - level) - 0.5); }
    /// Pixels between consecutive blocks that remain at a level.
    double spacing(std::size_t level) const { return pitch_ * static_cast<double>(schedule_.levels[level].scale); }
    double radius(std::size_t level) const { return std::min(11.0, 0.36 * spacing(level)); }
    static const char* colour(std::size_t level) { return colours[level % colours.size()]; }
    bool crowded(std::size_t level, const Run& run) const {
        return run.count > 1 && static_cast<double>(run.stride) * spacing(level) < min_chain_pitch;
    }
    bool has_dots(std::size_t level) const { return spacing(level) >= min_dot_pitch; }

    /// The level that eliminates a block: the last one that it reaches.
    std::size_t level_of(std::int64_t block) const {
        std::size_t found = 0;
        for (std::size_t k = 1; k < levels(); ++k) {
            const auto& level = schedule_.levels[k];
            const auto offset = block - level.base;
            if (offset >= 0 && offset % level.scale == 0 && offset / level.scale < level.size) found = k;
        }
        return found;
    }

    void label(double at_x, double at_y, const char* anchor, int size, const char* fill, const std::string& what) {
        text_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" font-size=\"{}\" fill=\"{}\">{}</text>\n", at_x, at_y,
                             anchor, size, fill, escaped(what));
    }
    void line(double x1, double y1, double x2, double y2, const char* stroke, double width, const char* more = "") {
        text_ += fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" stroke-width=\"{}\" {}/>\n", x1,
                             y1, x2, y2, stroke, width, more);
    }
    void dot(double at_x, double at_y, double r, const char* fill) {
        text_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" fill=\"{}\" stroke=\"#fff\" stroke-width=\"{}\"/>\n", at_x,
                             at_y, r, fill, r > 4 ? 1.5 : 0);
    }
    /// A triangle whose tip is at (tip, at_y), pointing along `step`.
    void arrow_head(double tip, double at_y, std::int64_t step, double size, const char* fill) {
        const auto back = tip - static_cast<double>(step) * size;
        text_ += fmt::format("<path d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}L{:.1f} {:.1f}Z\" fill=\"{}\"/>\n", tip, at_y, back, at_y - size * 0.6,
                             back, at_y + size * 0.6, fill);
    }

    /// The background of a level, and what it does in words.
    void lane(std::size_t k, double width) {
        const auto& level = schedule_.levels[k];
        text_ += fmt::format("<rect x=\"12\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"6\" fill=\"{}\" opacity=\"0.07\"/>\n",
                             y(k) - row_ / 2 + 3, width - 24, row_ - 6, colour(k));
        label(24, y(k) - 12, "start", 14, colour(k), fmt::format("level {}", k));
        label(24, y(k) + 5, "start", 12, "#333", plural(level.chains(), "chain"));
        label(24, y(k) + 21, "start", 12, "#333", plural(level.fronts(), "front") + lengths(level));
    }
    static std::string lengths(const Level& level) {
        const auto [least, most] = std::ranges::minmax(level.runs, {}, &Run::length);
        if (level.chains() == 1) return "";
        return least.length == most.length ? fmt::format(", {} each", most.length)
                                           : fmt::format(", {} to {} each", least.length, most.length);
    }

    void axis() {
        const auto bottom = top_margin + row_ * static_cast<double>(levels());
        std::int64_t step = 1;
        for (int k = 0; static_cast<double>(step) * pitch_ < 44 && roomy_pitch > pitch_ + 1e-9; ++k)
            step = k % 3 == 1 ? step / 2 * 5 : step * 2;
        for (std::int64_t block = 0; block < schedule_.horizon; block += step) {
            line(x(block), bottom + 2, x(block), bottom + 7, "#999", 1);
            label(x(block), bottom + 20, "middle", 11, "#666", fmt::format("{}", block));
        }
        label(24, bottom + 20, "start", 12, "#666", "block");
    }

    void draw_level(std::size_t k, DrawChain draw_chain) {
        for (const auto& run : schedule_.levels[k].runs) {
            if (crowded(k, run)) {
                if (draw_chain == &Drawing::fronts) band(k, run);
                continue;
            }
            for (std::int64_t chain = 0; chain < run.count; ++chain) (this->*draw_chain)(k, run, chain);
        }
    }

    struct Ends {
        std::int64_t first, last, behind, ahead;  ///< blocks; -1: none
    };
    Ends ends(std::size_t k, const Run& run, std::int64_t chain) const {
        const auto& level = schedule_.levels[k];
        const auto first = run.first + chain * run.stride, last = first + (run.length - 1) * run.step;
        const auto block = [&](std::int64_t position) { return position >= 0 && position < level.size ? level.block(position) : -1; };
        return {block(first), block(last), block(first - run.step), block(last + run.step)};
    }

    void edge(std::size_t from_level, std::int64_t from, std::int64_t to, bool fill) {
        const auto target = level_of(to);
        const auto x1 = x(from), y1 = y(from_level), x2 = x(to), y2 = y(target);
        const auto lift = y1 - row_ * 0.55;  // leave upward, so that edges of neighbouring chains do not lie on one another
        text_ += fmt::format(
            "<path d=\"M{:.1f} {:.1f}C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" "
            "opacity=\"0.6\"{}/>\n",
            x1, y1, x1, lift, x2, y1 - row_ * 0.25, x2, y2, colour(from_level), spacing(from_level) > 12 ? 1.6 : 0.8,
            fill ? " stroke-dasharray=\"4 3\"" : "");
    }
    void edges(std::size_t k, const Run& run, std::int64_t chain) {
        const auto [first, last, behind, ahead] = ends(k, run, chain);
        if (ahead >= 0) edge(k, last, ahead, false);
        if (behind >= 0) edge(k, first, behind, true);
    }

    void fronts(std::size_t k, const Run& run, std::int64_t chain) {
        const auto [first, last, behind, ahead] = ends(k, run, chain);
        const auto length = std::abs(x(last) - x(first));
        if (run.length > 1) line(x(first), y(k), x(last), y(k), colour(k), has_dots(k) ? 2.5 : 4, "stroke-linecap=\"round\"");
        if (!has_dots(k)) {
            if (length >= 8)
                arrow_head(x(last) + 2 * static_cast<double>(run.step), y(k), run.step, 9, colour(k));
            else if (run.length == 1)
                dot(x(first), y(k), std::clamp(radius(k), 1.5, 3.0), colour(k));
            return;
        }
        for (std::int64_t step = 0; step < run.length; ++step) {
            const auto block = first + step * run.step * schedule_.levels[k].scale;
            dot(x(block), y(k), radius(k), colour(k));
            if (step > 0 && spacing(k) >= 16)
                arrow_head(x(block) - static_cast<double>(run.step) * (radius(k) + 0.5), y(k), run.step, std::min(7.0, radius(k) * 0.7),
                           colour(k));
            const auto digits = fmt::format("{}", block);
            if (radius(k) >= 9 && digits.size() <= 3) label(x(block), y(k) + 3.5, "middle", digits.size() == 3 ? 9 : 10, "#fff", digits);
        }
        if (run.length > 1 && spacing(k) < 16) arrow_head(x(last) + static_cast<double>(run.step) * 7, y(k), run.step, 8, colour(k));
    }

    void band(std::size_t k, const Run& run) {
        const auto from = x(std::min(ends(k, run, 0).first, ends(k, run, 0).last)),
                   to = x(std::max(ends(k, run, run.count - 1).first, ends(k, run, run.count - 1).last));
        text_ += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"22\" rx=\"5\" fill=\"{}\" opacity=\"0.55\"/>\n",
                             from, y(k) - 11, std::max(to - from, 2.0), colour(k));
        if (to - from > 180)
            label((from + to) / 2, y(k) + 4, "middle", 12, "#fff",
                  fmt::format("{} of {}", plural(run.count, "chain"), plural(run.length, "front")));
    }

    void legend() {
        const auto at = height_ - 30;
        const auto* ink = "#555";
        dot(32, at, 8, ink);
        label(46, at + 4, "start", 12, ink, "front");
        line(100, at, 128, at, ink, 2.5);
        arrow_head(136, at, 1, 9, ink);
        label(144, at + 4, "start", 12, ink, "chain, in order of elimination");
        line(340, at, 370, at, ink, 1.6);
        label(378, at + 4, "start", 12, ink, "updates the separator ahead,");
        line(562, at, 592, at, ink, 1.6, "stroke-dasharray=\"4 3\"");
        label(600, at + 4, "start", 12, ink, "and the one behind");
        label(24, at + 22, "start", 11, "#888",
              "Chains of a level run at the same time; a separator waits for the chains that update it, then rises to the level that "
              "eliminates it.");
    }

    const Schedule& schedule_;
    double plot_, pitch_, row_, height_;
    std::string text_;
};

}  // namespace

std::string elimination_tree_svg(const Schedule& schedule, const std::string& title) { return Drawing(schedule).draw(title); }

}  // namespace trifold::command
