#pragma once
#include <functional>
#include <map>
#include <string>
#include <string_view>

/// Pieces of C whose loops are unrolled. Pointers into blocks have rows that are n apart.
namespace trifold::unrolled {

using Int = std::int64_t;
using Values = std::map<std::string, std::string>;

/// A section of a file of templates/export/c99, filled, behind an empty line.
std::string from(std::string_view file, std::string_view name, const Values& values);
/// Lines moved to the right, or to the left where `by` is below 0.
std::string indented(std::string_view text, int by);
/// Element (row, column) behind a pointer into rows that are `stride` apart: "l[2 * n + 1]".
std::string element(std::string_view pointer, Int row, Int column = 0, std::string_view stride = "n");
/// A pointer to row j, which is a name or a number: "l + j * n".
std::string row_of(std::string_view pointer, std::string_view j);
/// A declaration of `count` names: "real s0 = b[0], s1 = b[1];".
std::string declare(std::string_view type, Int count, const std::function<std::string(Int)>& one);
/// `body` for `step` rows or columns at a time, and for what they leave of n; `variable` is a loop's or a constant.
std::string loop(Int n, Int step, char variable, const std::function<std::string(Int)>& body);
/// The text of `make` for `most`, where n is that large, and for n % `most`, where that is not 0.
std::string for_sizes(Int n, Int most, const std::function<std::string(Int)>& make);

}  // namespace trifold::unrolled
