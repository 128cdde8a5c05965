#pragma once
#include <map>
#include <string>
#include <string_view>
#include <trifold/spec.hpp>

namespace trifold {

/// Text of one file of a project, and its name there.
struct ExportedFile {
    std::string name, text;
};

/// Whether an identifier may go on with it.
constexpr bool is_inner(char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }
/// Identifiers btd_... and BTD_... get the prefix, the latter in capitals.
std::string with_prefix(std::string_view text, std::string_view prefix);
/// C text in whose file scope every name begins with btd_ or BTD_, by macros in front of it for its other names, which get the prefix
/// btd_<stem>_. They and its own macros end with it.
std::string with_own_names(std::string_view text, std::string_view stem);
/// Throws SpecError unless names of C code can begin with it.
void check_prefix(std::string_view prefix);

inline bool is_single(const Spec& spec) { return spec.precision == Precision::f32; }

/// A part of a file of templates/export/c99: what follows its line "@@ NAME: when it is taken", up to the next such line. Without a name
/// the whole file. A line that is one @KEY@ alone loses its end, because the lines that are filled in bring theirs.
std::string section(std::string_view file, std::string_view name = {});

using Values = std::map<std::string, std::string>;
/// The text with each @KEY@ replaced by its value.
std::string filled(std::string_view text, const Values& values);

/// The C that computes the relative residual of a chain, for an example.
std::string check_of_chain(const Spec& spec);
std::string multiply_row(const Spec& spec);

/// Bytes of the arrays of a call.
struct ArrayBytes {
    std::int64_t d, e, b;
};
ArrayBytes array_bytes(const Spec& spec);
/// Values that the templates of every project have: sizes, target and command.
Values common_values(const Spec& spec, const std::string& target, const std::string& command);
/// btd_solver.h, with what it includes, and macros for C++ and for C.
std::string header_file(std::string_view comment, std::string_view includes, std::string_view for_cpp, std::string_view for_c,
                        std::string_view text);

}  // namespace trifold
