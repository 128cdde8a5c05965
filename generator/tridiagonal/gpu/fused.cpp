/// Variant "fused": fronts that shared memory holds whole, a thread block a chain, a launch a level.
#include <fmt/format.h>

#include <algorithm>

#include "generator/tridiagonal/design.hpp"
#include "generator/tridiagonal/gpu/sizes.hpp"

namespace trifold::gpu::fused_shared {
#include "templates/gpu/tridiagonal/fused/shared.h"
}

namespace trifold::gpu {
namespace {

LevelSizes sizes_of(const Problem& problem) {
    const auto& [spec, target, schedule, workers, knobs] = problem;
    LevelSizes sizes;
    sizes.real = element_bytes(spec.precision);
    sizes.padded = spec.block <= 4 ? 4 : round_up(spec.block, 8);
    sizes.tile = std::min<std::int64_t>(sizes.padded, 8);
    const auto warps = take(problem, "fused_warps", quantities_of(problem, sizes));
    sizes.threads = std::min<std::int64_t>(warps * warp_lanes(target), 256);
    sizes.leading = conflict_free(3 * sizes.padded);
    sizes.factor_shared = fused_shared::front_bytes(sizes.padded, sizes.leading, sizes.real);
    sizes.stage_factor = true;
    plan_level_sweeps(sizes, spec);
    return sizes;
}

std::string refuses(const Problem& problem) {
    const auto sizes = sizes_of(problem);
    if (sizes.threads == warp_lanes(problem.target) && sizes.padded > sizes.tile)  // no warp is left to update what is behind a tile
        return fmt::format("variant 'fused' needs more than one warp for n = {}; give fused_warps of at least 2", problem.spec.block);
    return fits(sizes, problem.target) ? "" : too_large(fused_variant.name, sizes, problem);
}

Lowered lower(const Problem& problem) { return lower_levels(fused_variant, problem, sizes_of(problem)); }

double seconds(const Problem& problem, const KnownDevice& device) {
    return level_seconds(fused_variant, problem, device, sizes_of(problem));
}

std::vector<Constant> constants(const Design& design) {
    const auto sizes = sizes_of(problem_of(design));
    auto result = level_constants(design, sizes);
    result.push_back(constant("PANEL_LEADING", sizes.leading));
    return result;
}

constexpr Knob knobs[] = {bake,
                          {"fused_warps", "warps that share a front", {1, 2, 4, 8}},
                          {"level_registers", "registers of a thread that factors", {64, 96, 128, 168, 255}}};

}  // namespace

constinit const Variant fused_variant{
    .name = "fused", .abilities = {}, .refuses = refuses, .seconds = seconds, .lower = lower, .constants = constants, .knobs = knobs};

}  // namespace trifold::gpu
