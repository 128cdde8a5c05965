#pragma once
#include <trifold/grid.hpp>

#include "generator/grid/fields.hpp"
#include "runtime/session/family.hpp"

namespace trifold {

template <>
[[gnu::visibility("hidden")]] inline constexpr std::array<std::string_view, 6> names_of<GridProblem>{
    "none", "beyond_image", "not_finite", "pivot", "nearly_singular", "unstable"};

extern const Family grid_family;

}  // namespace trifold
