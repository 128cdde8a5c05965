#pragma once
#include "generator/tridiagonal/gpu/sizes.hpp"

/// Sweeps of the variants that have a thread block a chain and a launch a level.
namespace trifold::gpu {

struct LevelSizes : Sizes {
    std::int64_t parts = 1;        ///< parts that a panel's columns are cut into, so that all threads load
    bool stage_factor = false;     ///< sweeps copy the factor to shared memory
    std::int64_t leading = 0;      ///< fused: elements between columns of the panel in shared memory
    std::int64_t row_vectors = 1;  ///< tiled: 16-byte vectors of rows that a thread has
};

/// The sweeps' sizes, from the others.
void plan_level_sweeps(LevelSizes& sizes, const Spec& spec);
Lowered lower_levels(const Variant& variant, const Problem& problem, const LevelSizes& sizes);
std::vector<Constant> level_constants(const Design& design, const LevelSizes& sizes);
double level_seconds(const Variant& variant, const Problem& problem, const KnownDevice& device, const LevelSizes& sizes);

}  // namespace trifold::gpu
