#include "generator/tridiagonal/gpu/levels.hpp"

#include <algorithm>

namespace trifold::gpu::levels_shared {
#include "templates/gpu/tridiagonal/levels/shared.h"
}

namespace trifold::gpu {

/// Sweeps treat as many right-hand sides at once as the Spec has, up to 8, and fit the smallest shared memory.
void plan_level_sweeps(LevelSizes& sizes, const Spec& spec) {
    sizes.parts = std::max<std::int64_t>(sizes.threads / (2 * sizes.padded), 1);
    while (sizes.padded % sizes.parts != 0) --sizes.parts;
    const auto bytes = [&](std::int64_t columns) {
        return levels_shared::sweep_bytes(sizes.padded, columns, sizes.parts, sizes.stage_factor, sizes.real);
    };
    sizes.columns = std::min<std::int64_t>(spec.rhs, 8);
    while (!sizes.stage_factor && sizes.columns > 1 && bytes(sizes.columns) > 64 * kib) sizes.columns /= 2;
    sizes.sweep_shared = bytes(sizes.columns);
    sizes.sweep_threads = sizes.threads;
}

Lowered lower_levels(const Variant& variant, const Problem& problem, const LevelSizes& sizes) {
    auto result = lower_common(problem, sizes, members_per_group(problem.spec));
    result.phases = usual_phases(problem.spec, variant.abilities);
    return result;
}

std::vector<Constant> level_constants(const Design& design, const LevelSizes& sizes) {
    const auto problem = problem_of(design);
    const auto of = quantities_of(problem, sizes);
    const bool tensor = device_of(design.target).has("fast_tensor") && design.spec.precision == Precision::f64;
    auto result = common_constants(design, sizes, {.tensor = tensor});
    const auto blocks = [&](std::int64_t threads, const char* list) { return blocks_for(design.target, threads, take(problem, list, of)); };
    result.insert(result.end(),
                  {constant("SHARED_FACTOR", sizes.factor_shared), constant("SHARED_SWEEP", sizes.sweep_shared),
                   constant("SWEEP_COLUMNS", sizes.columns), constant("SWEEP_PARTS", sizes.parts),
                   constant("STAGE_FACTOR", sizes.stage_factor), constant("FACTOR_BLOCKS", blocks(sizes.threads, "level_registers")),
                   constant("SWEEP_BLOCKS", blocks(sizes.sweep_threads, "level_sweep_registers"))});
    return result;
}

}  // namespace trifold::gpu
