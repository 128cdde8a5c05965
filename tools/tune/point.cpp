#include "tools/tune/point.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <trifold/error.hpp>

#include "tools/tune/family.hpp"

namespace trifold::tune {
namespace {

[[noreturn]] void refuse(std::string_view text) {
    throw SpecError(fmt::format("'{}' is no objective; give operations with weights, such as factor_solve or factor+3*solve", text));
}

/// "solve" or "3*solve".
std::pair<std::string, double> parse_term(std::string_view whole, std::string_view term) {
    double weight = 1;
    const auto star = term.find('*');
    if (star != std::string_view::npos) {
        const auto* const end = term.data() + star;
        const auto [at, error] = std::from_chars(term.data(), end, weight);
        if (error != std::errc() || at != end || !std::isfinite(weight) || weight <= 0) refuse(whole);
        term = term.substr(star + 1);
    }
    const bool is_word = std::ranges::all_of(term, [](char letter) { return letter == '_' || (letter >= 'a' && letter <= 'z'); });
    if (term.empty() || !is_word) refuse(whole);
    return {std::string(term), weight};
}

}  // namespace

std::string to_string(const Objective& objective) {
    std::string text;
    for (const auto& [operation, weight] : objective) {
        if (!text.empty()) text += "+";
        if (weight != 1) text += fmt::format("{}*", weight);
        text += operation;
    }
    return text;
}

Objective parse_objective(std::string_view text) {
    Objective result;
    for (auto rest = text;;) {
        const auto plus = rest.find('+');
        auto term = parse_term(text, rest.substr(0, plus));
        if (std::ranges::find(result, term.first, &Objective::value_type::first) != result.end()) refuse(text);
        result.push_back(std::move(term));
        if (plus == std::string_view::npos) return result;
        rest = rest.substr(plus + 1);
    }
}

std::string to_string(const Point& point) {
    const auto& family = family_of(point);
    const auto batch = number_in(point, "batch"), rhs = number_in(point, "rhs");
    auto text = fmt::format("{}x{}", number_in(point, family.sizes[0]), number_in(point, family.sizes[1]));
    if (batch != 1) text += fmt::format("x{}", batch);
    text += fmt::format(" {}", to_string(precision_of(point)));
    if (rhs != 1) text += fmt::format(" m={}", rhs);
    if (point.workers != 1) text += fmt::format(" workers={}", point.workers);
    if (point.objective != family.usual) text += fmt::format(" {}", to_string(point.objective));
    return text + family.notes(point.spec);
}

Precision precision_of(const Point& point) { return parse_precision(point.spec.at("precision").get<std::string>()); }

std::int64_t number_in(const Point& point, std::string_view field) { return point.spec.at(std::string(field)).get<std::int64_t>(); }

}  // namespace trifold::tune
