#include "generator/export/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <trifold/error.hpp>

namespace trifold {
namespace {

bool is_identifier(std::string_view text) {
    const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    const auto inner = [&](char c) { return letter(c) || c == '_' || (c >= '0' && c <= '9'); };
    return !text.empty() && text.size() <= 32 && letter(text.front()) && std::ranges::all_of(text, inner);
}

}  // namespace

std::string with_prefix(std::string_view text, std::string_view prefix) {
    std::string capitals(prefix), result;
    std::ranges::transform(capitals, capitals.begin(), [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
    const auto inside = [](char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; };
    for (std::size_t k = 0; k < text.size(); ++k) {
        const auto word = text.substr(k, 4);
        const bool starts = k == 0 || !inside(text[k - 1]);
        if (starts && (word == "btd_" || word == "BTD_")) {
            result += word == "btd_" ? std::string(prefix) : capitals;
            k += 2;  // the underscore follows
        } else {
            result += text[k];
        }
    }
    return result;
}

void check_prefix(std::string_view prefix) {
    if (is_identifier(prefix)) return;
    throw SpecError(
        fmt::format("prefix '{}' cannot begin the names of the C code; give a letter, then letters, digits and _, at most 32", prefix));
}

std::string filled(std::string_view text, const std::map<std::string, std::string>& values) {
    std::string result(text);
    for (const auto& [key, value] : values) {
        const auto mark = "@" + key + "@";
        for (auto at = result.find(mark); at != std::string::npos; at = result.find(mark, at + value.size()))
            result.replace(at, mark.size(), value);
    }
    return result;
}

}  // namespace trifold
