#pragma once
#include <trifold/grid_args.h>

#include <map>
#include <trifold/grid_spec.hpp>

#include "generator/grid/gpu/placement.hpp"
#include "generator/grid/layout.hpp"
#include "generator/program/knob.hpp"

/// Grids on GPUs. Small fronts have a warp or a thread block each, which keeps their pivot block and panels on chip. Others
/// are shared: the pivot block is factored panel by panel, a launch each, then the panels and D are cut into tiles.
namespace trifold::grid::gpu {

/// Throws SpecError where a GPU cannot have such a problem.
void check(const GridSpec& spec, const Target& target);

Shape shape_of(const GridSpec& spec, const Target& target, const std::vector<Level>& levels);

/// Units and launches of all operations.
void add_launches(Program& program, const GridSpec& spec, const Target& target, const Knobs& knobs, const std::vector<Level>& levels,
                  const Layout& layout);

/// The kernels that launches need, each with the most shared memory of a launch.
using SharedBytes = std::map<Kernel, std::int64_t>;

/// Makes the units of the launched kernels, and tells the launches where these are. So far a launch has its kernel's number. A unit always
/// has all its kernels, so that its text is the same whatever the size of the images.
void add_units(Program& program, const GridSpec& spec, const Target& target, const Knobs& knobs, const SharedBytes& launched);

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
