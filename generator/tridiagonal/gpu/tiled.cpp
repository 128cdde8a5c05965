/// Variant "tiled": fronts that shared memory holds tile by tile, a thread block a chain, a launch a level. It takes every problem.
#include "generator/tridiagonal/design.hpp"
#include "generator/tridiagonal/gpu/sizes.hpp"

namespace trifold::gpu::tiled_shared {
#include "templates/gpu/tridiagonal/tiled/shared.h"
}

namespace trifold::gpu {
namespace {

constexpr std::int64_t tile = tiled_shared::chunk;

LevelSizes sizes_of(const Problem& problem) {
    LevelSizes sizes;
    sizes.real = element_bytes(problem.spec.precision);
    sizes.padded = round_up(problem.spec.block, tile);
    sizes.tile = tile;
    sizes.threads = 256;
    const auto modulus = Quantities{{"padded_mod_128", static_cast<double>(sizes.padded % 128)}};
    sizes.row_vectors = take(problem, "row_vectors", quantities_of(problem, sizes) + modulus);
    const auto rows = static_cast<int>(tile * 16 / sizes.real * sizes.row_vectors);
    sizes.factor_shared = tiled_shared::front_bytes(sizes.padded, rows, sizes.real);
    plan_level_sweeps(sizes, problem.spec);
    return sizes;
}

Lowered lower(const Problem& problem) { return lower_levels(tiled_variant, problem, sizes_of(problem)); }

double seconds(const Problem& problem, const KnownDevice& device) {
    return level_seconds(tiled_variant, problem, device, sizes_of(problem));
}

std::vector<Constant> constants(const Design& design) {
    const auto sizes = sizes_of(problem_of(design));
    auto result = level_constants(design, sizes);
    result.push_back(constant("ROW_VECTORS", sizes.row_vectors));
    return result;
}

constexpr Knob knobs[] = {bake,
                          {"row_vectors", "vectors of rows that a thread has of a tile", {1, 2}},
                          {"level_registers", "registers of a thread that factors", {64, 96, 128, 168, 255}}};

}  // namespace

constinit const Variant tiled_variant{
    .name = "tiled", .abilities = {}, .seconds = seconds, .lower = lower, .constants = constants, .knobs = knobs};

}  // namespace trifold::gpu
