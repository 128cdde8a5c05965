#pragma once
#include <optional>
#include <string>
#include <trifold/binary.hpp>
#include <vector>

namespace trifold {

/// Whether what this process has obtained serves later callers. Not where the environment wants each unit compiled, replaced or dumped.
bool remembers();

/// The Unit's binary if nothing has to be compiled for it. `key` is its cache_key(). Throws what obtain() throws, but for CompileError.
std::optional<Binary> obtain_cached(const Unit& unit, const std::string& key);

/// Compiles in other threads what obtain() then finds, the first units first, and returns at once. What goes wrong there is the matter of
/// whoever obtains the unit. The end of the process, and a fork of it, wait for what is being compiled.
void obtain_beside(std::vector<Unit> units);

}  // namespace trifold
