#include "generator/export/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <trifold/error.hpp>

#include "generator/program/templates.hpp"

namespace trifold {
namespace {

bool is_identifier(std::string_view text) {
    const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    return !text.empty() && text.size() <= 32 && letter(text.front()) && std::ranges::all_of(text, is_inner);
}

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

std::string with_prefix(std::string_view text, std::string_view prefix) {
    std::string capitals(prefix), result;
    std::ranges::transform(capitals, capitals.begin(), [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
    for (std::size_t k = 0; k < text.size(); ++k) {
        const auto word = text.substr(k, 4);
        const bool starts = k == 0 || !is_inner(text[k - 1]);
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

std::string filled(std::string_view text, const Values& values) {
    std::string result(text);
    for (const auto& [key, value] : values) {
        const auto mark = "@" + key + "@";
        for (auto at = result.find(mark); at != std::string::npos; at = result.find(mark, at + value.size()))
            result.replace(at, mark.size(), value);
    }
    return result;
}

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

std::string multiply_row(const Spec& spec) {
    const bool general = spec.matrix == MatrixKind::general;
    return filled(
        section("example.c", "multiply_row"),
        {{"LOWER", general ? "" : "        const size_t row = r > k ? r : k, column = r > k ? k : r; /* the lower triangle counts */\n"},
         {"ROW", general ? "r" : "row"},
         {"COLUMN", general ? "k" : "column"},
         {"AFTER", general ? "u[BTD_E(i, r, k)]" : "e_[BTD_E(i, k, r)]"}});
}

std::string check_of_chain(const Spec& spec) {
    return multiply_row(spec) + "\n" +
           filled(section("example.c", "check"), {{"ROWS", "BTD_HORIZON * BTD_BLOCK"},
                                                  {"SKIP", ""},
                                                  {"AX", "multiply_row(d_, e_, x_ + c, shift, row / BTD_BLOCK, row % BTD_BLOCK"}});
}

ArrayBytes array_bytes(const Spec& spec) {
    const auto real = element_bytes(spec.precision);
    return {diagonal_extent(spec, spec.batch) * real, coupling_extent(spec, spec.batch) * real,
            (rhs_extent(spec, spec.batch, spec.rhs) + spec.border * spec.rhs) * real};
}

Values common_values(const Spec& spec, const std::string& target, const std::string& command) {
    const auto bytes = array_bytes(spec);
    Values values{{"PRECISION", std::string(to_string(spec.precision))}, {"TARGET", target}, {"COMMAND", command}};
    for (const auto& [key, number] : {std::pair{"N", spec.horizon},
                                      {"BLOCK", spec.block},
                                      {"RHS", spec.rhs},
                                      {"D_BYTES", bytes.d},
                                      {"E_BYTES", bytes.e},
                                      {"B_BYTES", bytes.b}})
        values[key] = fmt::format("{}", number);
    return values;
}

std::string header_file(std::string_view comment, std::string_view includes, std::string_view for_cpp, std::string_view for_c,
                        std::string_view text) {
    return fmt::format(
        "{}#ifndef BTD_SOLVER_H\n"
        "#define BTD_SOLVER_H\n\n"
        "{}#include <stddef.h>\n\n"
        "#ifdef __cplusplus\n"
        "extern \"C\" {{\n{}{}"
        "#endif\n\n"
        "{}\n"
        "#ifdef __cplusplus\n"
        "}}\n"
        "#endif\n\n"
        "#endif\n",
        comment, includes, for_cpp, for_c, text);
}

}  // namespace trifold
