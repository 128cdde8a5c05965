#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace trifold {

/// Places in trifold_args::sizes.
inline constexpr std::size_t open_size_count = 59;

/// The place in trifold_args::sizes of a constant of the templates, named without its TRIFOLD_. Nothing where it changes instructions, so
/// that it is a literal of every text.
std::optional<std::size_t> place_of_open_size(std::string_view constant);

/// 2^64 / divisor, rounded up: the upper half of its product with x is x / divisor, as long as x times the divisor is below 2^64. 0 for 1.
/// Division by a number that is no literal takes GPUs a hundred instructions.
std::uint64_t reciprocal_of(std::int64_t divisor);

/// Right-hand sides that kernels are made for: `rhs` rounded up to a class, so that one text serves the whole class.
std::int64_t columns_class(std::int64_t rhs);

}  // namespace trifold
