#pragma once
#include <string>
#include <trifold/program.hpp>

namespace trifold {

/// The text that TRIFOLD_EXTERNAL_SOURCE puts in place of the unit's source: the file's, or in a directory that of the file which has the
/// unit's name, where it names all kernels of the unit; else nothing. Throws SpecError when the file cannot be read.
std::string external_source(const Unit& unit);
/// Throws SpecError when TRIFOLD_EXTERNAL_SOURCE names a file or directory that is for no unit of the Program.
void check_external_source(const Program& program);

}  // namespace trifold
