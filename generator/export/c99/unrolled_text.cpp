#include "generator/export/c99/unrolled_text.hpp"

#include <fmt/format.h>

#include "generator/export/c99/parts.hpp"

namespace trifold::unrolled {

std::string from(std::string_view file, std::string_view name, const Values& values) { return "\n" + filled(section(file, name), values); }

std::string indented(std::string_view text, int by) {
    std::string result;
    for (std::size_t at = 0; at < text.size();) {
        const auto end = text.find('\n', at);
        const auto line = text.substr(at, end + 1 - at);
        result +=
            by < 0 ? std::string(line.substr(static_cast<std::size_t>(-by))) : std::string(static_cast<std::size_t>(by), ' ').append(line);
        at = end + 1;
    }
    return result;
}

std::string element(std::string_view pointer, Int row, Int column, std::string_view stride) {
    std::string index = row == 0 ? "" : row == 1 ? std::string(stride) : fmt::format("{} * {}", row, stride);
    if (column > 0 || index.empty()) index += fmt::format("{}{}", index.empty() ? "" : " + ", column);
    return fmt::format("{}[{}]", pointer, index);
}

std::string row_of(std::string_view pointer, std::string_view j) {
    return j == "0" ? std::string(pointer) : fmt::format("{} + {} * n", pointer, j);
}

std::string declare(std::string_view type, Int count, const std::function<std::string(Int)>& one) {
    std::string text(type);
    for (Int k = 0; k < count; ++k) text += (k > 0 ? ", " : " ") + one(k);
    return text + ";\n";
}

std::string loop(Int n, Int step, char variable, const std::function<std::string(Int)>& body) {
    const auto rest = n % step, full = n - rest;
    std::string text;
    if (full > 0)
        text += fmt::format("for (int {0} = 0; {0} < {1}; {0} += {2}) {{\n{3}}}\n", variable, full, step, indented(body(step), 4));
    if (rest > 0) text += fmt::format("{{\n    const int {} = {};\n{}}}\n", variable, full, indented(body(rest), 4));
    return text;
}

std::string for_sizes(Int n, Int most, const std::function<std::string(Int)>& make) {
    return (n >= most ? make(most) : "") + (n % most > 0 ? make(n % most) : "");
}

}  // namespace trifold::unrolled
