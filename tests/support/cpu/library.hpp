#pragma once
#include <functional>
#include <memory>
#include <string>

namespace trifold::test {

/// A shared library, loaded for as long as the pointer lives. `make` gets a new folder and compiles `unit.so` into it.
/// The build folder keeps a copy, because most tests are processes of their own and many of them need the same units.
/// `ingredients` is all that the library depends on: sources, commands, versions of compilers. Only equal ingredients share a copy.
std::shared_ptr<void> load_library(const std::string& ingredients, const std::function<void(const std::string& folder)>& make);

/// What a compiler says with --version. Asked once a process.
std::string compiler_version(const std::string& compiler);

/// The bytes of a file.
std::string file_text(const std::string& path);

}  // namespace trifold::test
