#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "generator/tridiagonal/wisdom.hpp"

namespace trifold {

/// The columns that say what a row is about: target, precision, operations, layout, workers, n, device, N, m, batch. Those that a near row
/// must have too stand first, so that near rows are together.
inline constexpr std::size_t number_of_key_columns = 10;
/// The first of them, up to n, each with a tab behind it.
std::string common_columns(const Target& target, const Spec& spec, int workers);
/// All of them, each with a tab behind it.
std::string key_columns(std::string_view device, const Target& target, const Spec& spec, int workers);
/// The device of a line; empty where it has no such column.
std::string_view device_in(std::string_view line);
/// Fills in what the first columns say. Throws SpecError.
void parse_key(std::span<const std::string_view> columns, WisdomRow& row);
/// All columns. Throws SpecError with what is wrong, without the line's number.
WisdomRow parse_wisdom_line(std::string_view line);

}  // namespace trifold
