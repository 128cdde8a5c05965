#pragma once
#include <charconv>
#include <optional>
#include <string_view>
#include <vector>

namespace trifold {

/// The parts of a text between separators. At least one, which may be empty.
inline std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (;;) {
        const auto end = text.find(separator);
        parts.push_back(text.substr(0, end));
        if (end == std::string_view::npos) return parts;
        text.remove_prefix(end + 1);
    }
}

/// The number that a text is; nothing where it is none, or holds more than one.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
    Number value{};
    const auto* const end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, value);
    return error == std::errc() && at == end ? std::optional(value) : std::nullopt;
}

}  // namespace trifold
