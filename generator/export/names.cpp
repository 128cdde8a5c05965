#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "generator/export/text.hpp"

namespace trifold {
namespace {

/// The identifier that ends before `end`, blanks aside.
std::string_view word_before(std::string_view text, std::size_t end) {
    end = std::min(end, text.size());
    while (end > 0 && text[end - 1] == ' ') --end;
    auto start = end;
    while (start > 0 && is_inner(text[start - 1])) --start;
    return text.substr(start, end - start);
}

/// The identifier that begins at `start`, blanks and ends of lines aside.
std::string_view word_at(std::string_view text, std::size_t start) {
    while (start < text.size() && (text[start] == ' ' || text[start] == '\n')) ++start;
    auto end = start;
    while (end < text.size() && is_inner(text[end])) ++end;
    return text.substr(start, end - start);
}

/// Names that C text defines in file scope. It is formatted: a declaration there begins in the first column, and nothing else does.
class OwnNames {
  public:
    explicit OwnNames(std::string_view text) {
        for (std::size_t start = 0, end = 0; start < text.size(); start = end + 1) {
            end = std::min(text.find('\n', start), text.size());
            read(text.substr(start, end - start), text.substr(start));
        }
        std::erase_if(names, [&](const auto& name) { return contains(macros, name); });
    }
    std::vector<std::string> names, macros;

  private:
    static bool contains(const std::vector<std::string>& list, std::string_view name) {
        return std::ranges::find(list, name) != list.end();
    }
    static void add(std::vector<std::string>& list, std::string_view name) {
        const bool has_prefix = name.starts_with("btd_") || name.starts_with("BTD_");
        if (!name.empty() && !has_prefix && name != "_Static_assert" && !contains(list, name)) list.emplace_back(name);
    }
    void read(std::string_view line, std::string_view rest) {
        if (line.starts_with("#define ")) return add(macros, word_at(line, 8));
        if (line.starts_with("} ")) return add(names, word_at(line, 2));
        if (line.starts_with(" ")) return read_pasted(line);
        if (line.empty() || !is_inner(line.front())) return;
        if (line.find("enum {") != line.npos) read_enum(rest);
        if (line.starts_with("enum ") || (line.starts_with("typedef ") && line.ends_with("{"))) return;
        const auto first = word_at(line, 0);
        if (first == "typedef")
            add(names, word_before(line, std::min({line.find(" __attribute__"), line.find('['), line.find(';')})));
        else if (contains(macros, first) && line.substr(first.size()).starts_with("("))
            add_defined(first, word_before(line, line.rfind(')')));
        else
            add(names, word_before(line, line.find_first_of("([=")));
    }
    void read_enum(std::string_view text) {
        const auto end = text.find('}');
        for (auto at = text.find('{'); at < end; at = text.find(',', at + 1)) add(names, word_at(text, at + 1));
    }
    /// Reads a line within a macro, for the prefix that it pastes its last parameter to.
    void read_pasted(std::string_view line) {
        if (const auto at = line.find("##"); at != line.npos && !macros.empty()) pasted_.emplace_back(macros.back(), word_before(line, at));
    }
    /// Adds the names that a call of a macro defines: its last argument, also behind pasted prefixes.
    void add_defined(std::string_view macro, std::string_view name) {
        if (name.empty()) return;
        add(names, name);
        for (const auto& [from, prefix] : pasted_)
            if (from == macro) add(names, prefix + std::string(name));
    }

    std::vector<std::pair<std::string, std::string>> pasted_;  // macros, and the prefixes that they paste to their last argument
};

}  // namespace

std::string with_own_names(std::string_view text, std::string_view stem) {
    const OwnNames own(text);
    if (own.names.empty()) return std::string(text);
    std::string result =
        "/* Names of this file alone get the prefix too, and its end takes back what is defined here and below: so that several solvers "
        "can\n"
        " * be included in one translation unit. */\n";
    for (const auto& name : own.names) result += fmt::format("#define {0} btd_{1}_{0}\n", name, stem);
    result += fmt::format("\n{}\n", text);
    for (const auto* list : {&own.macros, &own.names})
        for (const auto& name : *list) result += fmt::format("#undef {}\n", name);
    return result;
}

}  // namespace trifold
