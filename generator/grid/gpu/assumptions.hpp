#pragma once
#include <trifold/grid_args.h>

#include "generator/grid/gpu/placement.hpp"

/// Checks of what kernels assume of their launches and do not check themselves.
namespace trifold::grid::gpu {

/// The needs of one kernel of the Program.
struct Needs {
    std::int64_t threads = 0, shared_bytes = 0;
};

/// A launch as it is made: of a level, with the number of thread blocks for each image.
struct Made {
    Kernel kernel;
    const Needs& needs;
    const trifold_grid_launch& constants;
    std::int64_t groups;
    const Level& level;
};

/// Throws std::logic_error where the kernel would hang, leave something out, or leave its memory.
void require_sound(const GridSpec& spec, const Target& target, const Made& made);

}  // namespace trifold::grid::gpu
