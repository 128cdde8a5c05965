#pragma once
#include <string>
#include <string_view>
#include <trifold/binary.hpp>

/// Sources of units as people read and replace them.
namespace trifold {

/// Writes the parts of a Binary that TRIFOLD_DUMP names into TRIFOLD_DUMP_DIR. Never throws: what cannot be written is reported once.
void dump(const Unit& unit, const Binary& binary) noexcept;
/// `text` as <unit><extension> when TRIFOLD_DUMP lists `what`.
void dump_text(std::string_view what, const Unit& unit, std::string_view extension, std::string_view text) noexcept;

/// The path of the source that did not compile, kept for a person; or why it could not be kept.
std::string keep_failed_source(const Unit& unit);

/// The text that TRIFOLD_EXTERNAL_SOURCE puts in place of the unit's source: the file's, or in a directory that of the file which has the
/// unit's name, where it names all kernels of the unit; else nothing. Throws SpecError when the file cannot be read.
std::string external_source(const Unit& unit);
/// Throws SpecError when TRIFOLD_EXTERNAL_SOURCE names a file or directory that is for no unit of the Program.
void check_external_source(const Program& program);

/// A compiler's log with the template's line behind each line of the log that names a place in the unit:
///     kernel.cu(123): error: ... [templates/gpu/tridiagonal/fused/factor.cuh:45]
/// Places that come from no template stay as they are.
std::string with_template_lines(std::string_view log, std::string_view unit);

}  // namespace trifold
