#include "tools/tune/report/html.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace trifold::tune::report {
namespace {

using Rgb = std::array<double, 3>;

/// Eleven places of viridis at equal distances.
constexpr std::array<Rgb, 11> viridis{{{68, 1, 84},
                                       {72, 36, 117},
                                       {65, 68, 135},
                                       {53, 95, 141},
                                       {42, 120, 142},
                                       {33, 145, 140},
                                       {34, 168, 132},
                                       {68, 191, 112},
                                       {122, 209, 81},
                                       {189, 223, 38},
                                       {253, 231, 37}}};

/// Those of Okabe and Ito.
constexpr std::array<Rgb, 7> categories{
    {{0, 114, 178}, {230, 159, 0}, {0, 158, 115}, {204, 121, 167}, {86, 180, 233}, {213, 94, 0}, {240, 228, 66}}};
constexpr Rgb grey{140, 140, 140};

/// Light that the eye sees of a colour, from 0 to 1, as the guidelines for accessible pages define it.
double luminance(const Rgb& colour) {
    constexpr Rgb weights{0.2126, 0.7152, 0.0722};
    double sum = 0;
    for (std::size_t k = 0; k < 3; ++k) {
        const auto part = colour[k] / 255;
        sum += weights[k] * (part <= 0.04045 ? part / 12.92 : std::pow((part + 0.055) / 1.055, 2.4));
    }
    return sum;
}

/// Black and white have the same contrast at 0.179.
Colour colour_of(const Rgb& rgb) {
    const auto part = [&](std::size_t k) { return static_cast<int>(std::lround(rgb[k])); };
    return {fmt::format("#{:02x}{:02x}{:02x}", part(0), part(1), part(2)), luminance(rgb) > 0.179};
}

std::string three_digits(double value) {
    const auto magnitude = std::abs(value);
    return fmt::format("{:.{}f}", value, magnitude < 10 ? 2 : magnitude < 100 ? 1 : 0);
}

}  // namespace

std::string escape(std::string_view text) {
    std::string safe;
    safe.reserve(text.size());
    for (const char letter : text) {
        switch (letter) {
            case '&':
                safe += "&amp;";
                break;
            case '<':
                safe += "&lt;";
                break;
            case '>':
                safe += "&gt;";
                break;
            case '"':
                safe += "&quot;";
                break;
            case '\'':
                safe += "&#39;";
                break;
            default:
                if (static_cast<unsigned char>(letter) >= 32 || letter == '\n' || letter == '\t')
                    safe += letter;
                else
                    safe += "&#xFFFD;";  // pages may not have other control characters
        }
    }
    return safe;
}

Colour scale_colour(double share) {
    const auto place = (share > 0 ? std::min(share, 1.0) : 0.0) * (viridis.size() - 1);
    const auto below = std::min(static_cast<std::size_t>(place), viridis.size() - 2);
    const auto part = place - static_cast<double>(below);
    Rgb mixed{};
    for (std::size_t k = 0; k < 3; ++k) mixed[k] = (1 - part) * viridis[below][k] + part * viridis[below + 1][k];
    return colour_of(mixed);
}

Colour category_colour(std::size_t index) { return colour_of(index < categories.size() ? categories[index] : grey); }

std::string time_html(double seconds) {
    if (!std::isfinite(seconds)) return "&ndash;";
    if (seconds < 0.9995e-3) return three_digits(seconds * 1e6) + " us";
    if (seconds < 0.9995) return three_digits(seconds * 1e3) + " ms";
    if (seconds < 600) return three_digits(seconds) + " s";
    return three_digits(seconds / 3600) + " h";
}

std::string ratio_html(double ratio) { return fmt::format("{:.2f}&times;", ratio); }

std::string percent_html(double share) {
    return fmt::format("{:.{}f} %", 100 * share, share < 0.00095 ? 3 : share < 0.0095 ? 2 : share < 0.0995 ? 1 : 0);
}

std::string number_html(double value) { return three_digits(value); }

std::string size_html(std::size_t size) {
    auto text = fmt::format("{}", size);
    for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3) text.insert(static_cast<std::size_t>(at), "&#8239;");
    return text;
}

double quantile(std::vector<double> values, double share) {
    if (values.empty()) return 0;
    std::ranges::sort(values);
    const auto place = share * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const auto above = std::min(below + 1, values.size() - 1);
    return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
}

double geometric_mean(const std::vector<double>& values) {
    double sum = 0;
    for (const auto value : values) sum += std::log(value);
    return values.empty() ? 1 : std::exp(sum / static_cast<double>(values.size()));
}

}  // namespace trifold::tune::report
