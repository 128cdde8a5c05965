#pragma once
#include <string>
#include <string_view>
#include <trifold/binary.hpp>
#include <vector>

#include "runtime/compile/compiler.hpp"

namespace trifold {

/// One entry a kernel of the Unit, in its order. code_bytes stays -1 where the kernel is missing.
std::vector<KernelResources> resources_of(const Unit& unit, const Compiled& compiled);

/// What `--ptxas-options=-v` said of each kernel; code_bytes is not in there.
std::vector<KernelResources> parse_ptxas(const std::string& log);

/// What the metadata of an AMD code object says of each kernel; nothing when it has none that can be read.
std::vector<KernelResources> parse_code_object(std::string_view bytes);

}  // namespace trifold
