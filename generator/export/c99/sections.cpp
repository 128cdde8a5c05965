#include <fmt/format.h>

#include <stdexcept>

#include "generator/export/c99/parts.hpp"
#include "generator/program/templates.hpp"

namespace trifold {
namespace {

std::string_view lines_of_section(std::string_view text, std::string_view file, std::string_view name) {
    const auto begin = fmt::format("\n@@ {}: ", name);
    const auto at = text.find(begin);
    if (at == text.npos) throw std::logic_error(fmt::format("templates/export/c99/{} has no section '{}'", file, name));
    text.remove_prefix(text.find('\n', at + begin.size()) + 1);
    const auto next = text.find("\n\n@@ ");
    return next == text.npos ? text : text.substr(0, next + 1);
}

bool is_one_key(std::string_view line) {
    const auto inner = line.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_", 1);
    return line.size() > 2 && line.front() == '@' && inner == line.size() - 1 && line.back() == '@';
}

}  // namespace

std::string section(std::string_view file, std::string_view name) {
    auto text = template_text(fmt::format("export/c99/{}", file));
    if (!name.empty()) text = lines_of_section(text, file, name);
    std::string result;
    while (!text.empty()) {
        const auto line = text.substr(0, text.find('\n'));
        result.append(line).append(is_one_key(line) ? "" : "\n");
        text.remove_prefix(line.size() + 1);
    }
    return result;
}

}  // namespace trifold
