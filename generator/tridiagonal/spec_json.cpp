#include "generator/tridiagonal/spec_json.hpp"

#include <fmt/format.h>

#include <array>
#include <trifold/error.hpp>

namespace trifold {
namespace {

using nlohmann::json;

json layout_json(const BlockLayout& layout) { return {{"leading", layout.leading}, {"stage", layout.stage}, {"member", layout.member}}; }

json names_json(const Operations& operations) {
    auto names = json::array();
    for (const auto operation : operations) names.push_back(to_string(operation));
    return names;
}

std::int64_t parse_number(const std::string& name, const json& value) {
    if (!value.is_number_integer()) throw SpecError(fmt::format("'{}' of a spec is {}, which is no whole number", name, value.dump()));
    return value.get<std::int64_t>();
}

/// One of the words.
template <class Value>
Value parse_word(const std::string& name, const json& value, const std::array<std::pair<std::string_view, Value>, 2>& words) {
    for (const auto& [word, meaning] : words)
        if (value == word) return meaning;
    throw SpecError(fmt::format("'{}' of a spec is {}; give {} or {}", name, value.dump(), words[0].first, words[1].first));
}

std::string parse_text(const std::string& name, const json& value) {
    if (!value.is_string()) throw SpecError(fmt::format("'{}' of a spec is {}, which is no text", name, value.dump()));
    return value.get<std::string>();
}

BlockLayout parse_layout(const std::string& name, const json& value) {
    if (!value.is_object()) throw SpecError(fmt::format("'{}' of a spec is {}, which is no object", name, value.dump()));
    BlockLayout layout;
    for (const auto& [field, number] : value.items()) {
        if (field == "leading")
            layout.leading = parse_number(field, number);
        else if (field == "stage")
            layout.stage = parse_number(field, number);
        else if (field == "member")
            layout.member = parse_number(field, number);
        else
            throw SpecError(fmt::format("'{}' of a spec has no '{}'; give leading, stage or member", name, field));
    }
    return layout;
}

Operations parse_names(const json& value) {
    if (!value.is_array()) throw SpecError(fmt::format("'operations' of a spec is {}, which is no list", value.dump()));
    Operations result;
    for (const auto& name : value) result.merge(parse_operations(parse_text("operations", name)));
    return result;
}

}  // namespace

json to_json(const Spec& spec) {
    return {{"block", spec.block},
            {"horizon", spec.horizon},
            {"precision", to_string(spec.precision)},
            {"rhs", spec.rhs},
            {"batch", spec.batch},
            {"order", spec.order == Order::row_major ? "row-major" : "column-major"},
            {"coupling", spec.coupling == Coupling::lower ? "lower" : "upper"},
            {"rhs_layout", spec.rhs_layout == RhsLayout::staged ? "staged" : "stacked"},
            {"d", layout_json(spec.d)},
            {"e", layout_json(spec.e)},
            {"operations", names_json(spec.operations)}};
}

Spec parse_spec_json(const json& tree) {
    using namespace std::string_view_literals;
    if (!tree.is_object())
        throw SpecError(fmt::format("a spec is an object such as {{\"block\": 12, \"horizon\": 20}}, not {}", tree.dump()));
    Spec spec;
    for (const auto& [name, value] : tree.items()) {
        if (name == "block")
            spec.block = parse_number(name, value);
        else if (name == "horizon")
            spec.horizon = parse_number(name, value);
        else if (name == "rhs")
            spec.rhs = parse_number(name, value);
        else if (name == "batch")
            spec.batch = parse_number(name, value);
        else if (name == "precision")
            spec.precision = parse_precision(parse_text(name, value));
        else if (name == "order")
            spec.order = parse_word<Order>(name, value, {{{"row-major"sv, Order::row_major}, {"column-major"sv, Order::column_major}}});
        else if (name == "coupling")
            spec.coupling = parse_word<Coupling>(name, value, {{{"lower"sv, Coupling::lower}, {"upper"sv, Coupling::upper}}});
        else if (name == "rhs_layout")
            spec.rhs_layout = parse_word<RhsLayout>(name, value, {{{"staged"sv, RhsLayout::staged}, {"stacked"sv, RhsLayout::stacked}}});
        else if (name == "d")
            spec.d = parse_layout(name, value);
        else if (name == "e")
            spec.e = parse_layout(name, value);
        else if (name == "operations")
            spec.operations = parse_names(value);
        else
            throw SpecError(fmt::format("a spec has no '{}'", name));
    }
    validate(spec);
    return spec;
}

}  // namespace trifold
