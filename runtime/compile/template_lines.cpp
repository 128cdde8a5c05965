#include "runtime/compile/template_lines.hpp"

#include <fmt/format.h>

#include <charconv>

#include "generator/program/templates.hpp"

namespace trifold {
namespace {

/// The line of the unit that a line of the log names first, from 1; 0: none. All compilers are given the unit as kernel.c, .cu or .hip, and
/// write kernel.c:12:3 or kernel.cu(12).
std::size_t named_line(std::string_view text) {
    constexpr std::string_view file = "kernel.";
    for (auto at = text.find(file); at != text.npos; at = text.find(file, at + 1)) {
        const auto end = text.find_first_of(":(", at);
        if (end == text.npos) return 0;
        const auto suffix = text.substr(at + file.size(), end - at - file.size());
        std::size_t line = 0;
        const auto digits = text.substr(end + 1);
        const bool is_unit = suffix == "c" || suffix == "cu" || suffix == "hip";
        if (is_unit && std::from_chars(digits.data(), digits.data() + digits.size(), line).ec == std::errc()) return line;
    }
    return 0;
}

}  // namespace

std::string with_template_lines(std::string_view log, std::string_view unit) {
    const auto places = places_of(unit);
    std::string result;
    while (!log.empty()) {
        const auto end = log.find('\n');
        const auto text = log.substr(0, end);
        result += text;
        const auto line = named_line(text);
        if (line >= 1 && line <= places.size() && !places[line - 1].file.empty())
            result += fmt::format(" [{}:{}]", template_path(places[line - 1].file), places[line - 1].line);
        if (end == log.npos) break;
        result += '\n';
        log.remove_prefix(end + 1);
    }
    return result;
}

}  // namespace trifold
