#include "generator/grid/spec_json.hpp"

#include <fmt/format.h>

#include <trifold/error.hpp>

namespace trifold {
namespace {

using nlohmann::json;

std::int64_t parse_grid_number(const std::string& name, const json& value) {
    if (!value.is_number_integer()) throw SpecError(fmt::format("'{}' of a grid is {}, which is no whole number", name, value.dump()));
    return value.get<std::int64_t>();
}

/// One of the words that to_string has.
template <class Value>
Value parse_grid_word(const std::string& name, const json& value, Value first, Value second) {
    if (value == to_string(first)) return first;
    if (value == to_string(second)) return second;
    throw SpecError(fmt::format("'{}' of a grid is {}; give {} or {}", name, value.dump(), to_string(first), to_string(second)));
}

Precision parse_precision_of(const json& value) {
    if (!value.is_string()) throw SpecError(fmt::format("'precision' of a grid is {}, which is no text", value.dump()));
    return parse_precision(value.get<std::string>());
}

GridOperation parse_grid_operation(const json& value) {
    for (const auto operation : all_grid_operations())
        if (value == to_string(operation)) return operation;
    throw SpecError(fmt::format(
        "{} is no operation of a grid; give some of factor, solve, solve_transposed, factor_solve, gradient, refine", value.dump()));
}

GridOperations parse_grid_operations(const json& value) {
    if (!value.is_array()) throw SpecError(fmt::format("'operations' of a grid is {}, which is no list", value.dump()));
    GridOperations result;
    for (const auto& name : value) result.insert(parse_grid_operation(name));
    return result;
}

}  // namespace

json to_json(const GridSpec& spec) {
    auto operations = json::array();
    for (const auto operation : spec.operations) operations.push_back(to_string(operation));
    return {{"family", "grid"},
            {"width", spec.width},
            {"height", spec.height},
            {"precision", to_string(spec.precision)},
            {"matrix", to_string(spec.matrix)},
            {"pivoting", to_string(spec.pivoting)},
            {"boundary", to_string(spec.boundary)},
            {"rhs", spec.rhs},
            {"batch", spec.batch},
            {"operations", operations}};
}

GridSpec parse_grid_json(const json& tree) {
    if (!tree.is_object())
        throw SpecError(
            fmt::format("a grid is an object such as {{\"family\": \"grid\", \"width\": 129, \"height\": 65}}, not {}", tree.dump()));
    GridSpec spec;
    for (const auto& [name, value] : tree.items()) {
        if (name == "family")
            continue;
        else if (name == "width")
            spec.width = parse_grid_number(name, value);
        else if (name == "height")
            spec.height = parse_grid_number(name, value);
        else if (name == "rhs")
            spec.rhs = parse_grid_number(name, value);
        else if (name == "batch")
            spec.batch = parse_grid_number(name, value);
        else if (name == "precision")
            spec.precision = parse_precision_of(value);
        else if (name == "matrix")
            spec.matrix = parse_grid_word(name, value, GridMatrix::general, GridMatrix::symmetric);
        else if (name == "pivoting")
            spec.pivoting = parse_grid_word(name, value, GridPivoting::partial, GridPivoting::none);
        else if (name == "boundary")
            spec.boundary = parse_grid_word(name, value, GridBoundary::natural, GridBoundary::fixed);
        else if (name == "operations")
            spec.operations = parse_grid_operations(value);
        else
            throw SpecError(fmt::format("a grid has no '{}'", name));
    }
    validate(spec);
    return spec;
}

}  // namespace trifold
