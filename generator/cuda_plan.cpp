#include "generator/cuda_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <trifold/error.hpp>

#include "generator/cuda_tiles.hpp"

namespace trifold::cuda {
namespace {

std::int64_t threads_for(std::int64_t padded, const Target& target) {
    const std::int64_t warps = padded <= 8 ? 1 : padded <= 16 ? 2 : padded <= 32 ? 4 : 8;
    return std::min<std::int64_t>(warps * warp_lanes(target), 256);
}

/// Pivots, chain, the pivots' diagonal and the panel: FrontShared in templates/device.
std::int64_t front_bytes(std::int64_t diagonal, std::int64_t panel_elements, std::int64_t real) {
    return round_up(round_up(64 + 8 * diagonal, 16) + panel_elements * real, 16);
}

std::int64_t leading_for(std::int64_t rows) { return round_up(rows - 4, 8) + 4; }  // 4 modulo 8: free of bank conflicts

Plan fused_plan(const Spec& spec, const Target& target) {
    Plan plan;
    plan.real = element_bytes(spec.precision);
    plan.padded = spec.block <= 4 ? 4 : round_up(spec.block, 8);
    plan.tile = std::min<std::int64_t>(plan.padded, 8);
    plan.threads = threads_for(plan.padded, target);
    plan.leading = leading_for(3 * plan.padded);
    plan.factor_shared = front_bytes(plan.padded, plan.leading * plan.padded, plan.real);
    plan.stage_factor = true;
    return plan;
}

Plan tiled_plan(const Spec& spec) {
    Plan plan;
    plan.variant = "tiled";
    plan.real = element_bytes(spec.precision);
    plan.padded = round_up(spec.block, 32);
    plan.tile = 32;
    plan.threads = 256;
    const auto vector = 16 / plan.real;
    plan.row_vectors = plan.real == 8 && (plan.padded % 128 == 0 || plan.padded > 512) ? 2 : 1;
    const std::int64_t a = 32 * (32 * vector * plan.row_vectors + 4), b = 32 * 36;
    plan.factor_shared = front_bytes(plan.padded, a + 2 * b, plan.real);
    return plan;
}

/// Blocks beyond this leave no room for a front in a thread block's shared memory, or have more tiles than there are named barriers.
constexpr std::int64_t dataflow_limit = 96;

/// Matrix instructions of double precision that are fast and eight deep.
bool has_deep_tensor(const Target& target) {
    if (target.backend != Backend::cuda) return false;
    const auto capability = compute_capability(target);
    return capability == 90 || capability == 100;
}

/// Fronts send [R; G] as messages from the level on where there are few of them: time then is latency.
/// Long horizons are slower with the larger code (docs/performance-cuda.md).
void plan_messages(Plan& plan, const Spec& spec) {
    constexpr std::int64_t most_fronts = 512;  // at the level that begins and all later ones
    constexpr std::int64_t largest = 32;       // beyond, there are more rows than threads that look for them
    if (!plan.in_registers || plan.padded > largest || plan.is_crowded) return;
    plan.message_level = plan.wide_levels;
    while (spec.batch * (spec.horizon >> plan.message_level) > most_fronts) ++plan.message_level;
    plan.message_fronts = spec.horizon >> plan.message_level;
    if (plan.message_fronts < 2) plan.message_level = plan.message_fronts = 0;
}

/// Of a long horizon the first levels are wide, while they have so many fronts (WideShared in templates/device/wide_dataflow.cuh).
void plan_wide(Plan& plan, const Spec& spec, const Target& target) {
    if (!plan.is_long || plan.padded > 64 || !has_deep_tensor(target)) return;
    const auto tiles = plan.padded / 8;
    const auto head = 24 + 8 + 40 + 8 + 8 * plan.padded + tiles * 64 * plan.real + plan.padded * plan.real;
    plan.wide_shared = round_up(head, 16) + 2 * plan.lower_leading * plan.padded * plan.real;
    const std::int64_t least_fronts = plan.padded <= 32 ? 1024 : 128;  // measured: docs/performance-cuda.md
    while (spec.horizon >> (plan.wide_levels + 1) > 0 && spec.batch * (((spec.horizon >> plan.wide_levels) + 1) / 2) >= least_fronts)
        ++plan.wide_levels;
}

/// Two warps take turns at D's column tiles, of the others a lane has a row of [R; G] (FrontShared in
/// templates/device/front_dataflow.cuh). A warp of 64 multiplies strips of 16 columns, of which a block has a whole number.
Plan dataflow_plan(const Spec& spec, const Target& target) {
    Plan plan = fused_plan(spec, target);
    plan.variant = "dataflow";
    const auto lanes = warp_lanes(target);
    plan.padded = round_up(spec.block, lanes / 4);
    plan.tile = 8;
    plan.riders = std::min<std::int64_t>(spec.rhs, 8);
    const auto tiles = plan.padded / 8;
    plan.threads = lanes * (std::min<std::int64_t>(tiles, 2) + (2 * plan.padded + lanes - 1) / lanes);
    constexpr std::int64_t most_riding = 64;  // larger blocks have no rows for right-hand sides
    plan.lower_leading = leading_for(plan.padded + (plan.padded <= most_riding ? plan.riders : 0));
    plan.stacked_leading = leading_for(2 * plan.padded);
    const auto inverses =
        plan.real == 4 || plan.padded <= 88 ? 8 * plan.lower_leading * plan.real : 16;  // else in the place of L's diagonal tiles
    const auto head = 24 + 8 + 16 * 4 + plan.real * plan.padded + inverses + plan.padded * plan.real;
    const auto factor_shared = [&](std::int64_t pulled) {
        return round_up(head, 16) + ((plan.lower_leading + plan.stacked_leading) * plan.padded + pulled) * plan.real;
    };
    plan.factor_shared = factor_shared(2 * plan.lower_leading * plan.padded);
    const auto least_shared = factor_shared(16 / plan.real);
    const auto fronts = spec.horizon * spec.batch;
    constexpr std::int64_t many = 2048;  // N = 512 is faster with room, 4096 without: docs/performance-cuda.md
    plan.is_long = fronts >= many;
    plan_wide(plan, spec, target);
    plan.is_crowded = spec.batch * (spec.horizon >> plan.wide_levels) >= many;
    if (target.backend == Backend::cuda) {
        const auto more = fronts_together(plan.threads, least_shared) > fronts_together(plan.threads, plan.factor_shared);
        plan.front_room = plan.factor_shared <= shared_limit(target) && !(plan.is_crowded && more);
    }
    if (!plan.front_room) plan.factor_shared = least_shared;
    plan.in_registers = plan.front_room && has_deep_tensor(target);
    // Else a sweep by itself is faster.
    plan.rides = fronts < 1024 && plan.padded <= (plan.in_registers ? 32 : plan.real == 8 ? most_riding : 16);
    plan_messages(plan, spec);
    return plan;
}

/// InverseShared in templates/device/inverse_tiles.cuh.
void plan_inverse(Plan& plan) {
    const std::int64_t square = plan.padded <= 32 ? 32 : 64, band = std::max<std::int64_t>(plan.tile, 32);
    const std::int64_t inverse = band * (band + 4), factor = plan.tile == band ? 1 : inverse;
    plan.inverse_threads = square * square / 16;
    plan.inverse_shared = ((32 + band) * (square + 1) + factor + inverse) * plan.real;
}

/// Larger blocks leave a lane too few registers for its rows of the panels.
std::int64_t team_limit(const Schedule& schedule) { return has_fill(schedule) ? 16 : 24; }

/// From one team's shared memory to the next one's: `pitch` in templates/device/team.cuh.
std::int64_t team_pitch(std::int64_t bytes, std::int64_t lane_bytes) { return round_up(bytes, 128) + lane_bytes % 128; }

/// A chain a team of lanes (FactorShared and SweepShared in templates/device/factor_team.cuh and sweep_team.cuh).
Plan team_plan(const Spec& spec, const Target& target, const Schedule& schedule) {
    Plan plan;
    plan.variant = "team";
    plan.real = element_bytes(spec.precision);
    const auto vector = 16 / plan.real;
    plan.padded = round_up(spec.block, vector);
    plan.tile = 1;
    plan.riders = plan.columns = std::min<std::int64_t>(spec.rhs, spec.precision == Precision::f64 ? 4 : 8);
    plan.panels = has_fill(schedule) ? 3 : 2;
    plan.team = 2;
    while (plan.team < plan.padded) plan.team *= 2;
    const bool has_slots = schedule.levels.size() > 1;
    const auto area = plan.padded * plan.padded, square = round_up(plan.padded * (plan.padded | 1), vector),
               vectors = plan.riders * plan.padded;
    const std::int64_t depth = has_slots ? 1 : 2, rhs = vectors + 2 * (has_slots ? vectors : vector);
    const auto factor = (plan.panels - 1) * area + depth * (2 * (has_slots ? area : vector) + rhs + 2 * square) + vectors;
    const auto sweep = depth * (plan.panels * plan.padded * (plan.padded + vector) + rhs) + 2 * vectors;
    const auto lane_bytes = plan.team * plan.real, task = std::int64_t{64};
    const auto factor_pitch = team_pitch(task + factor * plan.real, lane_bytes),
               sweep_pitch = team_pitch(task + sweep * plan.real, lane_bytes);
    plan.threads = 2 * warp_lanes(target);
    while (plan.threads > warp_lanes(target) && plan.threads / plan.team * std::max(factor_pitch, sweep_pitch) > shared_limit(target))
        plan.threads /= 2;
    const auto teams = plan.threads / plan.team;
    while (2 * plan.members_together <= std::min(spec.batch, teams)) plan.members_together *= 2;
    plan.sweep_threads = plan.threads;
    plan.factor_shared = teams * factor_pitch;
    plan.sweep_shared = teams * sweep_pitch;
    plan_inverse(plan);
    return plan;
}

/// Sweeps treat as many right-hand sides at once as the Spec has, up to 8, and fit the smallest shared memory.
void plan_sweeps(Plan& plan, const Spec& spec) {
    plan.parts = std::max<std::int64_t>(plan.threads / (2 * plan.padded), 1);
    while (plan.padded % plan.parts != 0) --plan.parts;
    const auto bytes = [&](std::int64_t columns) {
        const auto factor = plan.stage_factor ? (plan.padded + 1) * plan.padded : 1;
        return (columns * (4 + 2 * plan.parts) * plan.padded + factor) * plan.real;
    };
    plan.columns = std::min<std::int64_t>(spec.rhs, 8);
    while (!plan.stage_factor && plan.columns > 1 && bytes(plan.columns) > 64 * kib) plan.columns /= 2;
    plan.sweep_shared = bytes(plan.columns);
    plan.sweep_threads = plan.threads;
    if (plan.variant == "dataflow") {  // SweepShared in templates/device/sweep_dataflow.cuh
        plan.sweep_threads = 4 * plan.padded;
        plan.sweep_shared = round_up(16 + ((plan.padded + 4) + 3 * plan.columns) * plan.padded * plan.real, 16);
    }
    // One thread block of full waves reads what every block of a member left: a few loads a thread, all on their way together.
    plan.finish_threads = std::min<std::int64_t>(round_up(spec.horizon, 256) / 4, 1024);
    plan.finish_shared = plan.finish_threads * 24;
    plan_inverse(plan);
}

bool fits(const Plan& plan, const Target& target) {
    return std::max({plan.factor_shared, plan.sweep_shared, plan.inverse_shared}) <= shared_limit(target);
}

Plan whole_plan(const Spec& spec, const Target& target) {
    auto plan = fused_plan(spec, target);
    plan_sweeps(plan, spec);
    return plan;
}

Plan flowing_plan(const Spec& spec, const Target& target) {
    auto plan = dataflow_plan(spec, target);
    plan_sweeps(plan, spec);
    return plan;
}

bool can_flow(const Spec& spec, const Target& target, const Schedule& schedule) {
    return spec.block <= dataflow_limit && schedule.levels == multi_stage(schedule.horizon).levels &&
           fits(flowing_plan(spec, target), target);
}

/// A diagonal tile of this edge stands in shared memory with the identity: in double precision more than AMD's devices have.
constexpr std::int64_t large_tile = 64, small_tile = 32;

Plan tiles_flowing_plan(const Spec& spec, const Target& target, const Schedule& schedule, std::int64_t edge) {
    Plan plan;
    plan.variant = "tile-dataflow";
    plan.real = element_bytes(spec.precision);
    plan.padded = round_up(spec.block, edge);
    plan.tile = edge;
    plan.threads = tiles::factor_threads(target, edge);
    plan_sweeps(plan, spec);
    plan.columns = std::min<std::int64_t>(spec.rhs, 4);
    plan.sweep_threads = tiles::sweep_threads;
    plan.factor_shared = tiles::factor_shared(schedule, spec, target, edge);
    plan.sweep_shared = tiles::sweep_shared(schedule, spec, edge, plan.columns);
    return plan;
}

bool can_team(const Spec& spec, const Target& target, const Schedule& schedule) {
    return spec.block <= team_limit(schedule) && fits(team_plan(spec, target, schedule), target);
}

}  // namespace

std::int64_t fronts_together(std::int64_t threads, std::int64_t shared, std::int64_t registers) {
    const std::int64_t warps_a_part = 16384 / (32 * registers);
    return std::clamp<std::int64_t>(std::min(4 * warps_a_part / (threads / 32), 227 * kib / (shared + kib)), 1, 16);
}

std::int64_t shared_limit(const Target& target) {
    if (target.backend == Backend::hip) return 64 * kib;
    const auto capability = compute_capability(target);
    if (capability == 75) return 64 * kib;
    if (capability == 80 || capability == 87) return 163 * kib;
    if (capability == 90 || capability == 100 || capability == 103 || capability == 110) return 227 * kib;
    return 99 * kib;
}

std::int64_t wide_levels(const Spec& spec, const Target& target) { return dataflow_plan(spec, target).wide_levels; }

bool flows(const Spec& spec, const Target& target, const Schedule& schedule) {
    return target.backend == Backend::cuda && can_flow(spec, target, schedule);
}

bool tiles_flow(const Spec& spec, const Target& target, const Schedule& schedule) {
    const std::int64_t most_fused = spec.precision == Precision::f64 ? 88 : 96;  // measured: see docs/performance-cuda.md
    const bool pays = spec.block > most_fused || !fits(whole_plan(spec, target), target);
    return target.backend == Backend::cuda && pays && !can_flow(spec, target, schedule) &&
           fits(tiles_flowing_plan(spec, target, schedule, large_tile), target);
}

bool teams_up(const Spec& spec, const Target& target, const Schedule& schedule) {
    constexpr std::int64_t measured_limit = 16, least_batch = 64, least_horizon = 16384;  // fewer are better off with thread blocks
    const bool many_systems = spec.batch >= least_batch && schedule.levels == sequential(schedule.horizon).levels;
    const bool many_chains = spec.horizon >= least_horizon && !flows(spec, target, schedule);
    return target.backend == Backend::cuda && spec.block <= measured_limit && (many_systems || many_chains) &&
           !spec.operations.contains(Operation::inverse) && can_team(spec, target, schedule);
}

Plan make_plan(const Spec& spec, const Target& target, const Schedule& schedule, std::string_view variant) {
    if (variant == "tile-dataflow" || (variant == "auto" && tiles_flow(spec, target, schedule))) {
        const auto plan = tiles_flowing_plan(spec, target, schedule, large_tile);
        return fits(plan, target) ? plan : tiles_flowing_plan(spec, target, schedule, small_tile);
    }
    if (variant == "dataflow" && !can_flow(spec, target, schedule))
        throw SpecError(
            fmt::format("variant 'dataflow' is for the schedule multi-stage, blocks up to {} and what shared memory holds, not for n = {}, "
                        "{}, {}; give auto",
                        dataflow_limit, spec.block, schedule.name, to_string(target)));
    if (variant == "team" && !can_team(spec, target, schedule))
        throw SpecError(fmt::format("variant 'team' is for blocks up to {} with schedule {}, not for n = {}; give auto",
                                    team_limit(schedule), schedule.name, spec.block));
    if (variant == "team" || (variant == "auto" && teams_up(spec, target, schedule))) return team_plan(spec, target, schedule);
    if (variant == "dataflow" || (variant == "auto" && flows(spec, target, schedule))) return flowing_plan(spec, target);
    auto plan = whole_plan(spec, target);
    const bool possible = fits(plan, target);
    if (variant == "fused" && !possible)
        throw SpecError(fmt::format("variant 'fused' needs {} bytes of shared memory for n = {}, and {} has {}; give auto or tiled",
                                    plan.factor_shared, spec.block, to_string(target), shared_limit(target)));
    if (variant == "fused" || (variant == "auto" && possible)) return plan;
    plan = tiled_plan(spec);
    plan_sweeps(plan, spec);
    return plan;
}

}  // namespace trifold::cuda
