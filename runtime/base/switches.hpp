#pragma once
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace trifold {

/// Every environment variable is read here and described in docs/users/switches.md. Only TRIFOLD_TEMPLATES is read in the generator.
/// Unset and empty are the same.
std::string switch_value(const char* name);

/// Whether the comma-separated list of TRIFOLD_DISABLE or TRIFOLD_DUMP holds `word`.
bool disabled(std::string_view word);
bool dumped(std::string_view word);

/// Throws SpecError when TRIFOLD_DISABLE holds a word that is not known: `jit` is a promise, and must not be lost in a slip of the pen.
/// Warns once about each switch whose value, or name, is not known. It is called where a Plan is made.
void check_switches();

/// An environment variable this library reads.
struct Switch {
    std::string_view name, values, meaning;
};
std::span<const Switch> switches();

/// The words that TRIFOLD_LOG takes, by LogLevel.
inline constexpr std::array<std::string_view, 5> log_levels{"off", "error", "warning", "info", "debug"};

/// Letters to put in, leave out, change or swap with their neighbour to get from one word to the other.
std::size_t spelling_distance(std::string_view left, std::string_view right);

}  // namespace trifold
