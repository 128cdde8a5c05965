#pragma once
#include <trifold/grid_spec.hpp>

#include "generator/program/fields.hpp"

namespace trifold {

template <>
[[gnu::visibility("hidden")]] inline constexpr std::array<std::string_view, 2> names_of<GridMatrix>{"general", "symmetric"};
template <>
[[gnu::visibility("hidden")]] inline constexpr std::array<std::string_view, 2> names_of<GridPivoting>{"none", "partial"};
template <>
[[gnu::visibility("hidden")]] inline constexpr std::array<std::string_view, 2> names_of<GridBoundary>{"natural", "fixed"};
template <>
[[gnu::visibility("hidden")]] inline constexpr std::array<std::string_view, 6> names_of<GridOperation>{
    "factor", "solve", "solve_transposed", "factor_solve", "gradient", "refine"};

extern const Fields grid_fields;

/// Every field of a GridSpec, and "family". The same text for the same GridSpec.
nlohmann::json to_json(const GridSpec& spec);
/// The reverse. What is left out has its default; a name that no GridSpec has is an error. Throws SpecError with what is wrong.
GridSpec parse_grid_json(const nlohmann::json& json);

}  // namespace trifold
