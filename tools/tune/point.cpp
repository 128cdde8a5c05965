#include "tools/tune/point.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <trifold/error.hpp>

namespace trifold::tune {
namespace {

[[noreturn]] void refuse(std::string_view text) {
    throw SpecError(fmt::format("'{}' is no objective; give operations with weights, such as factor_solve or factor+3*solve", text));
}

/// "solve" or "3*solve".
std::pair<Operation, double> parse_term(std::string_view whole, std::string_view term) {
    double weight = 1;
    const auto star = term.find('*');
    if (star != std::string_view::npos) {
        const auto* const end = term.data() + star;
        const auto [at, error] = std::from_chars(term.data(), end, weight);
        if (error != std::errc() || at != end || !std::isfinite(weight) || weight <= 0) refuse(whole);
        term = term.substr(star + 1);
    }
    const auto operations = term.empty() ? Operations{} : parse_operations(term);
    if (operations.size() != 1) refuse(whole);
    return {*operations.begin(), weight};
}

}  // namespace

std::string to_string(const Objective& objective) {
    std::string text;
    for (const auto& [operation, weight] : objective) {
        if (!text.empty()) text += "+";
        if (weight != 1) text += fmt::format("{}*", weight);
        text += to_string(operation);
    }
    return text;
}

Objective parse_objective(std::string_view text) {
    Objective result;
    for (auto rest = text;;) {
        const auto plus = rest.find('+');
        if (!result.insert(parse_term(text, rest.substr(0, plus))).second) refuse(text);
        if (plus == std::string_view::npos) return result;
        rest = rest.substr(plus + 1);
    }
}

std::string to_string(const Point& point) {
    const auto& spec = point.spec;
    auto text = fmt::format("{}x{}", spec.horizon, spec.block);
    if (spec.batch != 1) text += fmt::format("x{}", spec.batch);
    text += fmt::format(" {}", to_string(spec.precision));
    if (spec.rhs != 1) text += fmt::format(" m={}", spec.rhs);
    if (point.workers != 1) text += fmt::format(" workers={}", point.workers);
    if (point.objective != Objective{{Operation::factor_solve, 1}}) text += fmt::format(" {}", to_string(point.objective));
    if (spec.operations.contains(Operation::inverse)) text += " inverse";
    const Spec plain{.block = spec.block, .horizon = spec.horizon};
    const bool is_laid_out = spec.order != plain.order || spec.coupling != plain.coupling || spec.rhs_layout != plain.rhs_layout ||
                             spec.d != plain.d || spec.e != plain.e;
    return is_laid_out ? text + " laid-out" : text;
}

}  // namespace trifold::tune
