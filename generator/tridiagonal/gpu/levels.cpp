/// Variants with a thread block a chain and a launch a level. "fused": shared memory holds fronts whole. "tiled": it holds them tile by
/// tile, so that it takes every problem. "getrf-fused": fronts of general matrices, as in fused.
#include <fmt/format.h>

#include <algorithm>

#include "generator/program/require.hpp"
#include "generator/tridiagonal/design.hpp"
#include "generator/tridiagonal/gpu/model.hpp"
#include "generator/tridiagonal/gpu/sizes.hpp"

namespace trifold::gpu::levels_shared {
#include "templates/gpu/tridiagonal/levels/shared.h"
}
namespace trifold::gpu::fused_shared {
#include "templates/gpu/tridiagonal/fused/shared.h"
}
namespace trifold::gpu::getrf_shared {
#include "templates/gpu/tridiagonal/getrf_fused/shared.h"
}
namespace trifold::gpu::tiled_shared {
#include "templates/gpu/tridiagonal/tiled/shared.h"
}

namespace trifold::gpu {
namespace {

struct LevelSizes : Sizes {
    std::int64_t parts = 1;        ///< parts that a panel's columns are cut into, so that all threads load
    bool stage_factor = false;     ///< sweeps copy the factor to shared memory
    std::int64_t leading = 0;      ///< fused: elements between columns of the panel in shared memory
    std::int64_t row_vectors = 1;  ///< tiled: 16-byte vectors of rows that a thread has
};

/// Thread blocks that registers leave room for.
std::int64_t blocks_of(const Problem& problem, const LevelSizes& sizes, std::int64_t threads, const char* list) {
    return blocks_for(problem.target, threads, take(problem, list, quantities_of(problem, sizes)));
}

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

LevelSizes fused_sizes(const Problem& problem) {
    const auto& [spec, target, schedule, workers, knobs] = problem;
    LevelSizes sizes;
    sizes.real = element_bytes(spec.precision);
    sizes.padded = spec.block <= 4 ? 4 : round_up(spec.block, 8);
    sizes.tile = std::min<std::int64_t>(sizes.padded, 8);
    const auto warps = take(problem, "fused_warps", quantities_of(problem, sizes));
    sizes.threads = std::min<std::int64_t>(warps * warp_lanes(target), 256);
    sizes.leading = conflict_free(3 * sizes.padded);
    sizes.factor_shared = fused_shared::front_bytes(sizes.padded, sizes.leading, has_signs(spec), sizes.real);
    sizes.stage_factor = true;
    plan_level_sweeps(sizes, spec);
    return sizes;
}

/// Rows of a panel are those of D, R and Z', with fill also of G and H'.
LevelSizes general_sizes(const Problem& problem) {
    LevelSizes sizes;
    sizes.real = element_bytes(problem.spec.precision);
    sizes.tile = 8;
    sizes.padded = round_up(problem.spec.block, sizes.tile);
    const auto warps = take(problem, "fused_warps", quantities_of(problem, sizes));
    sizes.threads = std::min<std::int64_t>(warps * warp_lanes(problem.target), 256);
    const std::int64_t blocks = has_fill(problem.schedule) ? 5 : 3;
    sizes.leading = conflict_free(blocks * sizes.padded);
    sizes.factor_shared = getrf_shared::lu_front_bytes(sizes.padded, blocks, sizes.leading, sizes.real);
    sizes.stage_factor = true;
    plan_level_sweeps(sizes, problem.spec);
    return sizes;
}

constexpr std::int64_t tile = tiled_shared::chunk;

LevelSizes tiled_sizes(const Problem& problem) {
    LevelSizes sizes;
    sizes.real = element_bytes(problem.spec.precision);
    sizes.padded = round_up(problem.spec.block, tile);
    sizes.tile = tile;
    sizes.threads = 256;
    const auto modulus = Quantities{{"padded_mod_128", static_cast<double>(sizes.padded % 128)}};
    sizes.row_vectors = take(problem, "row_vectors", quantities_of(problem, sizes) + modulus);
    const auto rows = static_cast<int>(tile * 16 / sizes.real * sizes.row_vectors);
    sizes.factor_shared = tiled_shared::front_bytes(sizes.padded, rows, has_signs(problem.spec), sizes.real);
    plan_level_sweeps(sizes, problem.spec);
    return sizes;
}

template <LevelSizes (*sizes_of)(const Problem&), const Variant& variant>
std::string refuses(const Problem& problem) {
    const auto sizes = sizes_of(problem);
    if (sizes.threads == warp_lanes(problem.target) && sizes.padded > sizes.tile)  // no warp is left to update what is behind a tile
        return fmt::format("variant '{}' needs more than one warp for n = {}; give fused_warps of at least 2", variant.name,
                           problem.spec.block);
    return fits(sizes, problem.target) ? "" : too_large(variant.name, sizes, problem);
}

template <LevelSizes (*sizes_of)(const Problem&), const Variant& variant>
Lowered lower(const Problem& problem) {
    const auto sizes = sizes_of(problem);
    auto result = lower_common(problem, sizes, members_per_group(problem.spec));
    result.phases = phases_of(problem, sizes, variant.abilities);
    if (is_general(problem.spec)) lower_general(result, sizes);
    return result;
}

template <LevelSizes (*sizes_of)(const Problem&)>
std::vector<Constant> constants(const Design& design) {
    const auto problem = problem_of(design);
    const auto sizes = sizes_of(problem);
    const bool tensor = device_of(design.target).has("fast_tensor") && design.spec.precision == Precision::f64;
    auto result = common_constants(design, sizes, {.tensor = tensor});
    result.insert(result.end(), {constant("SHARED_FACTOR", sizes.factor_shared), constant("SHARED_SWEEP", sizes.sweep_shared),
                                 constant("SWEEP_COLUMNS", sizes.columns), constant("SWEEP_PARTS", sizes.parts),
                                 constant("STAGE_FACTOR", sizes.stage_factor),
                                 constant("FACTOR_BLOCKS", blocks_of(problem, sizes, sizes.threads, "level_registers")),
                                 constant("SWEEP_BLOCKS", blocks_of(problem, sizes, sizes.sweep_threads, "level_sweep_registers"))});
    result.push_back(sizes.leading > 0 ? constant("PANEL_LEADING", sizes.leading) : constant("ROW_VECTORS", sizes.row_vectors));
    if (is_general(problem.spec)) result.push_back(constant("FILL", has_fill(problem.schedule)));
    return result;
}

/// A level takes as long as its longest chain, or as all its fronts where they take turns on the multiprocessors. In the end a thread block
/// of each system looks at all its blocks for the verdict.
template <LevelSizes (*sizes_of)(const Problem&), const Variant& variant>
double seconds(const Problem& problem, const KnownDevice& device) {
    const auto sizes = sizes_of(problem);
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

constexpr Knob registers{"level_registers", "registers of a thread that factors", {64, 96, 128, 168, 255}};
constexpr Knob fused_knobs[] = {bake, {"fused_warps", "warps that share a front", {1, 2, 4, 8}}, registers};
constexpr Knob tiled_knobs[] = {bake, {"row_vectors", "vectors of rows that a thread has of a tile", {1, 2}}, registers};

/// A system has one chain where fronts with fill do not fit.
std::vector<Schedule> general_schedules(const Problem& problem) {
    const auto& [spec, target, schedule, workers, knobs] = problem;
    if (!is_general(spec) || fits(general_sizes({spec, target, partitioned(3, 2), workers, knobs}), target)) return {};
    if (spec.ring) return {sequential(spec.horizon, true)};
    return {sequential(spec.horizon), twisted(spec.horizon, 2)};
}

}  // namespace

constinit const Variant fused_variant{.name = "fused",
                                      .abilities = {.rings = true, .lengths = true, .views = true, .signs = true},
                                      .refuses = refuses<fused_sizes, fused_variant>,
                                      .seconds = seconds<fused_sizes, fused_variant>,
                                      .lower = lower<fused_sizes, fused_variant>,
                                      .constants = constants<fused_sizes>,
                                      .knobs = fused_knobs};
constinit const Variant tiled_variant{.name = "tiled",
                                      .abilities = {.rings = true, .lengths = true, .views = true, .signs = true},
                                      .seconds = seconds<tiled_sizes, tiled_variant>,
                                      .lower = lower<tiled_sizes, tiled_variant>,
                                      .constants = constants<tiled_sizes>,
                                      .knobs = tiled_knobs};
constinit const Variant getrf_fused_variant{.name = "getrf-fused",
                                            .folder = "getrf_fused",
                                            .abilities = {.rings = true, .definite = false, .general = true, .inverse = false},
                                            .refuses = refuses<general_sizes, getrf_fused_variant>,
                                            .seconds = seconds<general_sizes, getrf_fused_variant>,
                                            .lower = lower<general_sizes, getrf_fused_variant>,
                                            .constants = constants<general_sizes>,
                                            .knobs = fused_knobs,
                                            .schedules = general_schedules};

}  // namespace trifold::gpu
