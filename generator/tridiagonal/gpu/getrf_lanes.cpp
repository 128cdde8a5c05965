/// Variant "getrf-lanes": small general matrices in large batches, of which a lane has a whole system.
#include <fmt/format.h>

#include <algorithm>

#include "generator/tridiagonal/design.hpp"
#include "generator/tridiagonal/gpu/model.hpp"

namespace trifold::gpu::lanes_shared {
#include "templates/gpu/tridiagonal/getrf_lanes/shared.h"
}

namespace trifold::gpu {
namespace {

/// Teams were faster for n = 3 and 4 (history.md#2026-11-30-lanes).
constexpr std::int64_t largest_block = 2;
constexpr std::int64_t stages_in_flight = 2;
/// Elements that come together of all members of a warp: of each 16, which are 128 bytes of double precision, or 8 where it has 64 lanes.
constexpr std::int64_t elements_together = 512;

struct LaneSizes : Sizes {
    std::int64_t stage_blocks = 1;
};

LaneSizes sizes_of(const Problem& problem) {
    const auto n = problem.spec.block, lanes = std::int64_t{warp_lanes(problem.target)};
    LaneSizes sizes;
    sizes.real = element_bytes(problem.spec.precision);
    sizes.padded = n;
    sizes.tile = 1;
    sizes.threads = sizes.sweep_threads = lanes;
    sizes.stage_blocks = std::max<std::int64_t>(elements_together / (lanes * n * n), 1);
    sizes.factor_shared = lanes_shared::lanes_factor_bytes(lanes, n, sizes.stage_blocks, stages_in_flight, sizes.real);
    sizes.sweep_shared = lanes_shared::lanes_sweep_bytes(lanes, n, sizes.stage_blocks, stages_in_flight, sizes.real);
    return sizes;
}

std::string refuses(const Problem& problem) {
    const auto& schedule = problem.schedule;
    if (schedule.levels != sequential(schedule.horizon).levels)
        return fmt::format("variant 'getrf-lanes' is for the schedule sequential, not for {}; give auto", schedule.name);
    return "";
}

Lowered lower(const Problem& problem) {
    const auto sizes = sizes_of(problem);
    auto result = lower_common(problem, sizes, members_per_group(problem.spec, sizes.threads));
    result.members = round_up(problem.spec.batch, sizes.threads);  // whose factors lie side by side
    result.phases = phases_of(problem, sizes, getrf_lanes_variant.abilities, problem.spec.rhs == 1);
    lower_general(result, sizes);
    return result;
}

/// A warp's systems take as long as a chain, one after another; or all of them as long as the memory needs for D, E, U, the factors and
/// vectors.
double seconds(const Problem& problem, const KnownDevice& device) {
    const auto& spec = problem.spec;
    const auto sizes = sizes_of(problem);
    const Model model(device, getrf_lanes_variant.name, problem);
    const bool solves = modelled_operation(problem) == Operation::factor_solve;
    const auto n = static_cast<double>(spec.block), blocks = static_cast<double>(spec.horizon * spec.batch);
    const auto warps = static_cast<double>((spec.batch + sizes.threads - 1) / sizes.threads);
    const auto turns =
        std::ceil(warps / (model.multiprocessors() * resident(problem, 64, std::max(sizes.factor_shared, sizes.sweep_shared))));
    const auto chain = static_cast<double>(spec.horizon) * turns;
    const auto memory = [&](double words) {
        return model.memory_cycles(words * blocks * static_cast<double>(sizes.real)) / model("share_of_bytes");
    };
    double cycles = model("launch") + together(2, {chain * (model("front") + model("element") * n * n), memory(6 * n * n)});
    if (solves) cycles += model("launch") + passes(problem, sizes) * together(2, {chain * model("sweep") * n, memory(2 * n * n + 3 * n)});
    return model.seconds(cycles);
}

std::vector<Constant> constants(const Design& design) {
    const auto sizes = sizes_of(problem_of(design));
    auto result = common_constants(design, sizes, {.members_together = sizes.threads, .orders = false});
    result.insert(result.end(), {constant("STAGE_BLOCKS", sizes.stage_blocks), constant("DEPTH", stages_in_flight),
                                 constant("SHARED_FACTOR", sizes.factor_shared), constant("SHARED_SWEEP", sizes.sweep_shared)});
    return result;
}

std::vector<Schedule> one_chain(const Problem& problem) {
    if (!is_general(problem.spec) || problem.spec.ring) return {};
    return {sequential(problem.spec.horizon)};
}

constexpr Knob knobs[] = {bake};

}  // namespace

constinit const Variant getrf_lanes_variant{
    .name = "getrf-lanes",
    .folder = "getrf_lanes",
    .abilities = {.definite = false, .general = true, .inverse = false, .finishes = false, .largest_block = largest_block},
    .refuses = refuses,
    .seconds = seconds,
    .lower = lower,
    .constants = constants,
    .knobs = knobs,
    .schedules = one_chain};

}  // namespace trifold::gpu
