#pragma once
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "generator/program/templates.hpp"
#include "generator/tridiagonal/design.hpp"

/// The parts of a unit's text that every backend shares.
namespace trifold {

/// A name that templates read, without its TRIFOLD_, and its value.
using Constant = std::pair<std::string, std::string>;

/// Comment that says what the unit is for, and by which command it is made again.
std::string header_comment(const Design& design);
/// Sizes, strides and places in the workspace.
std::vector<Constant> constants_of(const Design& design);
/// A row's, a column's, a stage's and a member's stride: PREFIX_ROW and so on. All blocks begin at multiples of PREFIX_STEP.
void add_strides(std::vector<Constant>& constants, std::string_view prefix, const Strides& strides);
/// Writes constants as #define lines. Open sizes are places in the arguments of a call, unless the design has its sizes as literals.
std::string define(const Design& design, std::span<const Constant> constants);
/// The open sizes of all its texts, by their places; 0 where it has none of a name.
std::vector<std::int64_t> open_sizes_of(const Design& design);
/// How kernels get the open sizes.
std::string define_sizes(const Design& design);
/// Header comment, constants and the named kernels.
std::string emit_prologue(const Design& design, std::span<const PhaseKernel> kernels);

}  // namespace trifold
