#pragma once
#include <trifold/binary.hpp>
#include <vector>

#include "runtime/device/gpu.hpp"

namespace trifold {

/// A Program's CPU binaries in this process. Throws CompileError when one cannot be loaded, or lacks a kernel.
gpu::Loaded load_on_host(const Program& program, const std::vector<Binary>& binaries);

}  // namespace trifold
