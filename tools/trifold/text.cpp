#include "tools/trifold/text.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>

namespace trifold::command {
namespace {

constexpr int bar_width = 24;

}  // namespace

std::string bytes_text(std::int64_t bytes) {
    constexpr std::array units{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    if (bytes < 1024) return fmt::format("{} B", bytes);
    auto value = static_cast<double>(bytes) / 1024;
    std::size_t unit = 0;
    for (; value >= 1024 && unit + 1 < units.size(); ++unit) value /= 1024;
    return fmt::format("{:.{}f} {}", value, value < 10 ? 2 : value < 100 ? 1 : 0, units[unit]);
}

std::string seconds_text(double seconds) {
    if (seconds == 0) return "0";
    if (seconds < 1e-3) return fmt::format("{:.1f} us", seconds * 1e6);
    if (seconds < 1) return fmt::format("{:.2f} ms", seconds * 1e3);
    return fmt::format("{:.2f} s", seconds);
}

std::string flops_text(double flops) {
    constexpr std::array units{"flop", "kflop", "Mflop", "Gflop", "Tflop", "Pflop"};
    std::size_t unit = 0;
    for (; flops >= 1000 && unit + 1 < units.size(); ++unit) flops /= 1000;
    return fmt::format("{:.{}f} {}", flops, unit == 0 ? 0 : flops < 10 ? 2 : flops < 100 ? 1 : 0, units[unit]);
}

std::string count_text(std::int64_t count) { return count < 0 ? "-" : fmt::format("{}", count); }

std::string plural(std::int64_t count, const std::string& word) { return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s"); }

std::string table(const std::vector<std::vector<std::string>>& rows) {
    std::vector<std::size_t> widths;
    for (const auto& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t k = 0; k < row.size(); ++k) widths[k] = std::max(widths[k], row[k].size());
    }
    std::string text;
    for (const auto& row : rows) {
        std::string line = "  ";
        for (std::size_t k = 0; k < row.size(); ++k)
            line += k == 0 ? fmt::format("{:<{}}", row[k], widths[k]) : fmt::format("  {:>{}}", row[k], widths[k]);
        text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
    return text;
}

std::string list(const std::vector<std::pair<std::string, std::string>>& items) {
    std::size_t width = 0;
    for (const auto& item : items) width = std::max(width, item.first.size());
    std::string text;
    for (const auto& [name, value] : items) text += fmt::format("  {:<{}}  {}\n", name, width, value);
    return text;
}

void say(const std::string& text) noexcept { std::fwrite(text.data(), 1, text.size(), stderr); }

void say_notes(const std::string& verb, const std::vector<std::string>& notes) {
    for (const auto& note : notes) say(fmt::format("trifold {}: {}\n", verb, note));
}

Progress::Progress(int steps) : steps_(steps), shown_(::isatty(STDERR_FILENO) == 1) {}

void Progress::step(const std::string& what) {
    const int filled = taken_ * bar_width / steps_;
    taken_ = std::min(taken_ + 1, steps_);
    if (!shown_) return;
    say(fmt::format("\r\x1b[K[{:#<{}}{:.<{}}] {}", "", filled, "", bar_width - filled, what));
    std::fflush(stderr);
}

void Progress::show(int done, const std::string& what) {
    taken_ = done;
    step(what);
}

Progress::~Progress() {
    if (shown_ && taken_ > 0) say("\r\x1b[K");
}

}  // namespace trifold::command
