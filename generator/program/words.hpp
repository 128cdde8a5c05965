#pragma once
#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
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

consteval std::size_t count_words(std::string_view list) {
    std::size_t count = 1;
    for (const char c : list) count += c == ',' ? 1 : 0;
    return count;
}

/// "factor, solve" as its words.
template <std::size_t count>
consteval std::array<std::string_view, count> words_of(std::string_view list) {
    std::array<std::string_view, count> words;
    for (auto& word : words) {
        word = list.substr(0, list.find(','));
        list.remove_prefix(std::min(word.size() + 2, list.size()));
    }
    if (!list.empty()) throw "there are more words";
    return words;
}

/// An enumeration, and an array of its values' names.
#define TRIFOLD_NAMED_ENUM(Type, names, ...) \
    enum class Type { __VA_ARGS__ };         \
    inline constexpr auto names = ::trifold::words_of<::trifold::count_words(#__VA_ARGS__)>(#__VA_ARGS__)

}  // namespace trifold
