#pragma once
#include <string>

namespace trifold::test {

/// "file:line in file:line": where a return address of a unit stands, and what it is inlined into, as far as its debug
/// information tells. Frames in the emulator's platform.cuh are left out.
std::string source_line(const void* address);

}  // namespace trifold::test
