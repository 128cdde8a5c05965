#include <algorithm>

#include "generator/program/require.hpp"
#include "generator/tridiagonal/gpu/model.hpp"
#include "generator/tridiagonal/gpu/sizes.hpp"

namespace trifold::gpu::levels_shared {
#include "templates/gpu/tridiagonal/levels/shared.h"
}

namespace trifold::gpu {
namespace {

/// Thread blocks that registers leave room for.
std::int64_t blocks_of(const Problem& problem, const LevelSizes& sizes, std::int64_t threads, const char* list) {
    return blocks_for(problem.target, threads, take(problem, list, quantities_of(problem, sizes)));
}

}  // namespace

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
    require(sizes.padded % sizes.tile == 0 && sizes.padded % sizes.parts == 0 && sizes.columns >= 1,
            "a sweep over {} rows has tiles of {}, {} parts and {} columns", sizes.padded, sizes.tile, sizes.parts, sizes.columns);
}

Lowered lower_levels(const Variant& variant, const Problem& problem, const LevelSizes& sizes) {
    auto result = lower_common(problem, sizes, members_per_group(problem.spec));
    result.phases = phases_of(problem, sizes, variant.abilities);
    return result;
}

std::vector<Constant> level_constants(const Design& design, const LevelSizes& sizes) {
    const auto problem = problem_of(design);
    const bool tensor = device_of(design.target).has("fast_tensor") && design.spec.precision == Precision::f64;
    auto result = common_constants(design, sizes, {.tensor = tensor});
    result.insert(result.end(), {constant("SHARED_FACTOR", sizes.factor_shared), constant("SHARED_SWEEP", sizes.sweep_shared),
                                 constant("SWEEP_COLUMNS", sizes.columns), constant("SWEEP_PARTS", sizes.parts),
                                 constant("STAGE_FACTOR", sizes.stage_factor),
                                 constant("FACTOR_BLOCKS", blocks_of(problem, sizes, sizes.threads, "level_registers")),
                                 constant("SWEEP_BLOCKS", blocks_of(problem, sizes, sizes.sweep_threads, "level_sweep_registers"))});
    return result;
}

/// A level takes as long as its longest chain, or as all its fronts where they take turns on the multiprocessors. In the end a thread block
/// of each system looks at all its blocks for the verdict.
double level_seconds(const Variant& variant, const Problem& problem, const KnownDevice& device, const LevelSizes& sizes) {
    const Model model(device, variant.name, problem);
    const bool solves = modelled_operation(problem) == Operation::factor_solve;
    const auto rows = static_cast<double>(sizes.padded), elements = rows * rows;
    const auto slots = [&](std::int64_t threads, const char* list, std::int64_t shared) {
        return model.multiprocessors() * resident(problem, blocks_of(problem, sizes, threads, list), shared);
    };
    const auto factor_shared = solves ? std::max(sizes.factor_shared, sizes.sweep_shared) : sizes.factor_shared;
    const auto factor_slots = slots(sizes.threads, "level_registers", factor_shared);
    const auto sweep_slots = slots(sizes.sweep_threads, "level_sweep_registers", sizes.sweep_shared);
    const auto front = model("front") + model.precise("row") * rows + model.precise("element") * elements;
    const auto sweep = model("sweep") + model.precise("sweep_row") * rows;
    const auto all_sweep = sweep + model.precise("sweep_element") * elements;
    double cycles = model("verdict") * static_cast<double>(problem.spec.horizon) * (solves ? 2 : 1);
    for (const auto& load : loads_of(problem)) {
        const auto longest = load.longest * (1 + (load.longest_has_fill ? model("fill") : 0));
        const auto fronts = load.fronts * (1 + (load.has_fill ? model("fill") : 0));
        cycles += model("level") + together(2, {longest * front, fronts * front / factor_slots});
        if (solves)
            cycles += model("sweep_level") + passes(problem, sizes) * together(2, {longest * sweep, fronts * all_sweep / sweep_slots});
    }
    return model.seconds(cycles);
}

}  // namespace trifold::gpu
