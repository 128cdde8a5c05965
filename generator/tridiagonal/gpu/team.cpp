/// Variants "team", and "getrf" for general matrices: a team of lanes has a chain of small blocks; a multiprocessor holds many. A launch a
/// level.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "generator/program/require.hpp"
#include "generator/tridiagonal/design.hpp"
#include "generator/tridiagonal/gpu/model.hpp"

namespace trifold::gpu::team_shared {
#include "templates/gpu/tridiagonal/team/shared.h"
}

namespace trifold::gpu {
namespace {

struct TeamSizes : Sizes {
    std::int64_t riders = 1;            ///< right-hand sides in the panel
    std::int64_t team = 2, panels = 2;  ///< lanes that have a chain; panels of a front: L, R and, with fill, G
    std::int64_t depth = 1;             ///< fronts in flight
    std::int64_t members_together = 1;  ///< whose chains a thread block has side by side
};

/// Larger blocks leave a lane too few registers for its rows of the panels; in double precision with fill.
constexpr std::int64_t largest_block = 24, largest_filled_block = 18;
constexpr std::int64_t largest_deep_block = 8;  // general matrices have room for four fronts in flight up to it
constexpr std::int64_t largest_general_block = 16, largest_filled_general_block = 8;  // with fill, a lane has nine rows
std::int64_t largest_block_with_fill(const Spec& spec) {
    if (is_general(spec)) return spec.precision == Precision::f64 ? largest_filled_general_block : largest_general_block;
    return spec.precision == Precision::f64 ? largest_filled_block : largest_block;
}
const Variant& variant_for(const Spec& spec) { return is_general(spec) ? getrf_variant : team_variant; }
/// With fill, a thread of larger blocks has nearly all the registers that there are.
constexpr std::int64_t largest_lean_block = 16;

TeamSizes sizes_of(const Problem& problem) {
    const auto& [spec, target, schedule, workers, knobs] = problem;
    TeamSizes sizes;
    sizes.real = element_bytes(spec.precision);
    const auto vector = 16 / sizes.real;
    sizes.padded = round_up(spec.block, vector);
    sizes.tile = 1;
    sizes.riders = sizes.columns = std::min(spec.rhs, take(problem, "team_riders", quantities_of(problem, sizes)));
    sizes.panels = has_fill(schedule) ? 3 : 2;
    while (sizes.team < sizes.padded) sizes.team *= 2;
    const bool has_slots = schedule.levels.size() > 1;
    // One front at a time suffices where there are many chains: other teams work meanwhile.
    const auto depth = sizes.depth = (has_slots ? 1 : 2) * (is_general(spec) && spec.block <= largest_deep_block ? 2 : 1);
    const auto pitch_of = [&](std::int64_t bytes) { return team_shared::team_pitch(bytes, sizes.team, sizes.real); };
    using namespace team_shared;
    const auto factor_pitch =
        pitch_of(is_general(spec) ? lu_factor_bytes(sizes.padded, sizes.riders, sizes.panels, has_slots, depth, sizes.real)
                                  : factor_bytes(sizes.padded, sizes.riders, sizes.panels, has_slots, has_signs(spec), depth, sizes.real));
    const auto sweep_pitch =
        pitch_of((is_general(spec) ? lu_sweep_bytes : sweep_bytes)(sizes.padded, sizes.riders, sizes.panels, has_slots, depth, sizes.real));
    sizes.threads = 2 * warp_lanes(target);
    while (sizes.threads > warp_lanes(target) && sizes.threads / sizes.team * std::max(factor_pitch, sweep_pitch) > shared_limit(target))
        sizes.threads /= 2;
    const auto teams = sizes.threads / sizes.team;
    while (2 * sizes.members_together <= std::min(spec.batch, teams)) sizes.members_together *= 2;
    sizes.sweep_threads = sizes.threads;
    sizes.factor_shared = teams * factor_pitch;
    sizes.sweep_shared = teams * sweep_pitch;
    return sizes;
}

std::string refuses(const Problem& problem) {
    if (const auto largest = largest_block_with_fill(problem.spec); problem.spec.block > largest && has_fill(problem.schedule))
        return fmt::format("variant '{}' is for blocks up to {} with schedule {}, not for n = {}; give auto",
                           variant_for(problem.spec).name, largest, problem.schedule.name, problem.spec.block);
    const auto sizes = sizes_of(problem);
    return fits(sizes, problem.target) ? "" : too_large(variant_for(problem.spec).name, sizes, problem);
}

/// Chains of a member that a thread block has side by side.
std::int64_t chains_together(const TeamSizes& sizes) { return sizes.threads / sizes.team / sizes.members_together; }

/// Requires a lane of a team for each row, and whole teams in a thread block: whole chains of whole members.
void require_teams(const Problem& problem, const TeamSizes& sizes) {
    const auto lanes = warp_lanes(problem.target);
    require(sizes.padded <= sizes.team && lanes % sizes.team == 0 && sizes.threads % lanes == 0,
            "teams of {} lanes have blocks of {} rows in thread blocks of {} threads", sizes.team, sizes.padded, sizes.threads);
    const auto chains = chains_together(sizes), members = members_per_group(problem.spec, sizes.members_together);
    require(chains >= 1 && chains * sizes.members_together * sizes.team == sizes.threads && members % sizes.members_together == 0,
            "{} threads have {} chains of {} of {} members side by side", sizes.threads, chains, sizes.members_together, members);
}

Lowered lower(const Problem& problem) {
    const auto sizes = sizes_of(problem);
    require_teams(problem, sizes);
    auto result = lower_common(problem, sizes, members_per_group(problem.spec, sizes.members_together));
    result.phases = phases_of(problem, sizes, variant_for(problem.spec).abilities, problem.spec.rhs <= sizes.riders);
    if (is_general(problem.spec)) {
        const auto block = result.storage.panel;
        result.storage = {block + sizes.padded, 2 * block, block + sizes.padded, 2 * block, result.storage.vector};
        result.shapes[Phase::forward_transposed] = result.shapes.at(Phase::forward);
        result.shapes[Phase::backward_transposed] = result.shapes.at(Phase::backward);
    }
    for (const auto phase :
         {Phase::factor, Phase::factor_forward, Phase::forward, Phase::backward, Phase::forward_transposed, Phase::backward_transposed})
        result.shapes[phase].chains_per_task = chains_together(sizes);
    return result;
}

/// Thread blocks of a multiprocessor for a kernel whose lanes keep a row of `blocks` blocks. Registers come in steps, since whole warps
/// share a quarter of the multiprocessor's.
std::int64_t blocks(const Problem& problem, const TeamSizes& sizes, const char* kernel, std::int64_t blocks) {
    const auto words = blocks * sizes.padded * sizes.real / 4;
    const bool many_riders = sizes.real == 4 && sizes.riders > sizes.padded;
    const auto of = quantities_of(problem, sizes) + Quantities{{"kernel", std::string(kernel)},
                                                               {"words", static_cast<double>(words)},
                                                               {"many_riders", static_cast<double>(many_riders)}};
    return blocks_for(problem.target, sizes.threads, take(problem, "team_registers", of));
}

/// Blocks of the panels and of their products in a factorization: of a general matrix D, Z, R and R Z, of which some are kept twice, and
/// with fill G, H and what they leave.
constexpr std::int64_t general_blocks = 5, filled_general_blocks = 9;
std::int64_t factored_blocks(const Spec& spec, const TeamSizes& sizes) {
    const std::int64_t general = sizes.panels > 2 ? filled_general_blocks : general_blocks;
    return is_general(spec) ? general : sizes.panels > 2 ? 6 : 3;
}

/// Blocks of n by n that a level reads and writes. A front has D, E, L and R, with fill also G, and updates from the levels below. A chain
/// leaves updates to the separators at its ends.
double moved_blocks(const LevelLoad& load, bool is_first, bool is_last) {
    const double of_front = (load.has_fill ? 5 : 4) + (is_first ? 0 : 2), of_chain = is_last ? 0 : load.has_fill ? 6 : 2;
    return of_front * load.fronts + of_chain * load.chains;
}

/// A level takes as long as its longest chain, times the turns that its thread blocks take; or as long as the memory needs for its blocks.
double seconds(const Problem& problem, const KnownDevice& device) {
    const auto sizes = sizes_of(problem);
    const Model model(device, team_variant.name, problem);
    const bool solves = modelled_operation(problem) == Operation::factor_solve, rides = problem.spec.rhs <= sizes.riders;
    const auto rows = static_cast<double>(sizes.padded), elements = rows * rows;
    const auto turns = [&](const LevelLoad& load, const char* kernel, std::int64_t of_blocks, std::int64_t shared) {
        const auto groups = std::ceil(load.chains / static_cast<double>(sizes.threads / sizes.team));
        return std::ceil(groups / (model.multiprocessors() * resident(problem, blocks(problem, sizes, kernel, of_blocks), shared)));
    };
    const auto* kernel = solves && rides ? "factor_forward" : "factor";
    const auto factor_shared = solves && rides ? std::max(sizes.factor_shared, sizes.sweep_shared) : sizes.factor_shared;
    const auto memory = [&](double of_blocks) {
        const auto share = model(sizes.panels > 2 ? "share_of_bytes_with_fill" : "share_of_bytes");
        return model.memory_cycles(of_blocks * elements * static_cast<double>(sizes.real)) / share;
    };
    const auto fill = model(sizes.padded > largest_lean_block ? "large_fill" : "fill");
    const auto loads = loads_of(problem);
    const auto ahead = loads.size() == 1 ? model("ahead") : 1;  // a chain alone has two fronts in flight
    double cycles = 0;
    for (std::size_t k = 0; k < loads.size(); ++k) {
        const auto& load = loads[k];
        const auto longest = load.longest * ahead;
        const auto product = (model.precise("row") * rows + model.precise("element") * elements) * (1 + (load.longest_has_fill ? fill : 0));
        const auto factor = longest * (model("front") + product) * turns(load, kernel, factored_blocks(problem.spec, sizes), factor_shared);
        cycles += model("level") + together(3, {factor, memory(moved_blocks(load, k == 0, k + 1 == loads.size()))});
        if (!solves) continue;
        const auto sweep = longest * model.precise("sweep_row") * rows * turns(load, "sweep", sizes.panels, sizes.sweep_shared);
        const auto swept = together(3, {sweep, memory((load.has_fill ? 3 : 2) * load.fronts)});
        cycles += model("sweep_level") + (rides ? 1 : 2) * passes(problem, sizes) * swept + longest * model("riding");
    }
    return model.seconds(cycles);
}

std::vector<Constant> constants(const Design& design) {
    const auto problem = problem_of(design);
    const auto sizes = sizes_of(problem);
    const bool tensor = device_of(design.target).has("fast_tensor") && design.spec.precision == Precision::f64;
    auto result = common_constants(design, sizes, {.tensor = tensor, .members_together = sizes.members_together, .orders = false});
    const auto factored = factored_blocks(problem.spec, sizes);
    result.insert(result.end(), {constant("TEAM", sizes.team), constant("PANELS", sizes.panels), constant("RIDERS", sizes.riders),
                                 constant("DEPTH", sizes.depth), constant("CHAINS_PER_GROUP", chains_together(sizes)),
                                 constant("SHARED_FACTOR", sizes.factor_shared), constant("SHARED_SWEEP", sizes.sweep_shared),
                                 constant("FACTOR_BLOCKS", blocks(problem, sizes, "factor", factored)),
                                 constant("FACTOR_FORWARD_BLOCKS", blocks(problem, sizes, "factor_forward", factored)),
                                 constant("SWEEP_BLOCKS", blocks(problem, sizes, "sweep", sizes.panels))});
    return result;
}

constexpr Knob knobs[] = {bake,
                          {"team_riders", "right-hand sides, at most, that a front treats at once", {1, 2, 4, 8}},
                          {"team_registers", "registers of a thread", {64, 80, 96, 128, 168, 255}}};

}  // namespace

constinit const Variant team_variant{
    .name = "team",
    .abilities = {.rings = true, .lengths = true, .views = true, .signs = true, .finishes = false, .largest_block = largest_block},
    .refuses = refuses,
    .seconds = seconds,
    .lower = lower,
    .constants = constants,
    .knobs = knobs};

namespace {

/// Blocks whose rows leave no registers for fill have one chain, or two from both ends.
std::vector<Schedule> general_schedules(const Problem& problem) {
    const auto& spec = problem.spec;
    if (!is_general(spec)) return {};
    const bool one_chain = !spec.ring && take(problem, "one_chain", quantities_of(problem)) != 0;
    if (spec.block <= largest_block_with_fill(spec) && !one_chain) return {};
    if (spec.ring || one_chain) return {sequential(spec.horizon, spec.ring)};
    return {sequential(spec.horizon), twisted(spec.horizon, 2)};
}

}  // namespace

constinit const Variant getrf_variant{
    .name = "getrf",
    .abilities =
        {.rings = true, .definite = false, .general = true, .inverse = false, .finishes = false, .largest_block = largest_general_block},
    .refuses = refuses,
    .seconds = seconds,
    .lower = lower,
    .constants = constants,
    .knobs = knobs,
    .schedules = general_schedules};

}  // namespace trifold::gpu
