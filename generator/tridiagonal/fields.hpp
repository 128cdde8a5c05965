#pragma once
#include <trifold/spec.hpp>

#include "generator/program/fields.hpp"

namespace trifold {

template <>
[[gnu::visibility("hidden")]] inline constexpr std::array<std::string_view, 3> names_of<MatrixKind>{"positive-definite", "symmetric",
                                                                                                    "general"};
template <>
[[gnu::visibility("hidden")]] inline constexpr std::array<std::string_view, 2> names_of<Order>{"row-major", "column-major"};
template <>
[[gnu::visibility("hidden")]] inline constexpr std::array<std::string_view, 2> names_of<Coupling>{"lower", "upper"};
template <>
[[gnu::visibility("hidden")]] inline constexpr std::array<std::string_view, 2> names_of<RhsLayout>{"staged", "stacked"};
template <>
[[gnu::visibility("hidden")]] inline constexpr std::array<std::string_view, 10> names_of<Operation>{
    "factor", "forward", "backward", "solve", "factor_forward", "factor_solve", "inverse", "refine", "solve_transposed", "load"};

extern const Fields layout_fields;  ///< fields of a BlockLayout
extern const Fields spec_fields;

/// Every field of a Spec. The same text for the same Spec.
nlohmann::json to_json(const Spec& spec);
/// The reverse. What is left out has its default; a name that no Spec has is an error. Throws SpecError with what is wrong.
Spec parse_spec_json(const nlohmann::json& json);

}  // namespace trifold
