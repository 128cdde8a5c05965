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

/// Identifiers btd_... and BTD_... get the prefix, the latter in capitals.
std::string with_prefix(std::string_view text, std::string_view prefix);
/// Throws SpecError unless names of C code can begin with it.
void check_prefix(std::string_view prefix);

inline bool is_single(const Spec& spec) { return spec.precision == Precision::f32; }

/// The text with each @KEY@ replaced by its value.
std::string filled(std::string_view text, const std::map<std::string, std::string>& values);

}  // namespace trifold
