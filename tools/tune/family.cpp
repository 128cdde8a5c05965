#include "tools/tune/family.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <trifold/error.hpp>

#include "generator/program/words.hpp"

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
        weight = parse_number<double>(term.substr(0, star)).value_or(0);
        if (!std::isfinite(weight) || weight <= 0) refuse(whole);
        term = term.substr(star + 1);
    }
    const bool is_word = std::ranges::all_of(term, [](char letter) { return letter == '_' || (letter >= 'a' && letter <= 'z'); });
    if (term.empty() || !is_word) refuse(whole);
    return {std::string(term), weight};
}

const TunedFamily& first_that(const auto& wanted, const std::string& what) {
    std::vector<std::string_view> names;
    for (const auto* family : families()) {
        if (wanted(*family)) return *family;
        names.push_back(family->name);
    }
    throw SpecError(fmt::format("{} is of no family that can be tuned; there are {}", what, fmt::join(names, ", ")));
}

}  // namespace

std::string to_string(const Objective& objective) {
    std::vector<std::string> terms;
    for (const auto& [operation, weight] : objective) terms.push_back((weight == 1 ? "" : fmt::format("{}*", weight)) + operation);
    return fmt::format("{}", fmt::join(terms, "+"));
}

Objective parse_objective(std::string_view text) {
    Objective result;
    for (const auto part : split(text, '+')) {
        auto term = parse_term(text, part);
        if (std::ranges::find(result, term.first, &Objective::value_type::first) != result.end()) refuse(text);
        result.push_back(std::move(term));
    }
    return result;
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
    if (family.fields != nullptr)
        for (const auto* field : family.fields->choices()) {
            const auto& value = point.spec.at(std::string(field->name));
            const auto word = value.get<std::string>();
            if (value != field->get(family.fields->usual)) text += word == "none" ? fmt::format(" {} none", field->name) : " " + word;
        }
    return text + family.notes(point.spec);
}

std::string identity_of(const Point& point) {
    return fmt::format("{} {} {}", point.spec.dump(), point.workers, to_string(point.objective));
}

Precision precision_of(const Point& point) { return parse_precision(point.spec.at("precision").get<std::string>()); }

std::int64_t number_in(const Point& point, std::string_view field) { return point.spec.at(std::string(field)).get<std::int64_t>(); }

bool has_operation(const nlohmann::json& spec, std::string_view name) {
    const auto& names = spec.at("operations");
    return std::find(names.begin(), names.end(), name) != names.end();
}

std::int64_t different_members(std::int64_t batch, std::int64_t bytes_of_each) {
    constexpr std::int64_t max_made = 16, max_made_bytes = 128 << 20;
    return std::min(batch, std::clamp<std::int64_t>(max_made_bytes / bytes_of_each, 1, max_made));
}

void round_to(Precision precision, std::vector<double>& values) {
    if (precision == Precision::f32)
        for (auto& value : values) value = static_cast<double>(static_cast<float>(value));
}

double tolerance_of(Precision precision) { return precision == Precision::f32 ? 1e-6 : 1e-14; }

std::vector<const TunedFamily*>& families() {
    static std::vector<const TunedFamily*> all{&tridiagonal_family(), &grid_family(), &sparse_family()};
    return all;
}

const TunedFamily& family_of(const nlohmann::json& spec) {
    if (!spec.is_object() || !spec.contains("family")) return *families().front();
    const auto& name = spec.at("family");
    return first_that([&](const TunedFamily& family) { return name == family.name; }, fmt::format("a spec of family {}", name.dump()));
}

const TunedFamily& family_of(const ProblemKey& key) {
    return first_that([&](const TunedFamily& family) { return family.owns(key); }, fmt::format("n = '{}'", key.kind));
}

const std::vector<std::string>* arrays_of(const TunedFamily& family, std::string_view operation) {
    const auto found = std::ranges::find(family.operations, operation, &TunedFamily::Named::first);
    return found == family.operations.end() ? nullptr : &found->second;
}

std::int64_t data_bytes(const Point& point) {
    std::int64_t elements = 0;
    for (const auto& array : family_of(point).arrays(point.spec)) elements += array.elements;
    return elements * element_bytes(precision_of(point));
}

Objective ordered(const Objective& objective, const TunedFamily& family) {
    Objective result;
    std::vector<std::string> names;
    for (const auto& [operation, arrays] : family.operations) {
        const auto found = std::ranges::find(objective, names.emplace_back(operation), &Objective::value_type::first);
        if (found != objective.end()) result.push_back(*found);
    }
    for (const auto& [operation, weight] : objective)
        if (arrays_of(family, operation) == nullptr)
            throw SpecError(fmt::format("'{}' is no operation of {}; give some of {}", operation, family.name, fmt::join(names, ", ")));
    return result;
}

void check_key(const WisdomRow& row) { family_of(row.key).spec(row.key); }

std::string refusal_of(const WisdomRow& row) try {
    const auto& family = family_of(row.key);
    family.make({.spec = family.spec(row.key), .workers = row.key.workers}, row.key.target, {row.pins.schedule, row.pins.variant});
    return {};
} catch (const SpecError& error) {
    return error.what();
}

}  // namespace trifold::tune
