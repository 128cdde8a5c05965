#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "generator/backend.hpp"
#include "generator/cuda_tiles.hpp"
#include "generator/error.hpp"

namespace trifold::cuda {
namespace {

constexpr std::int64_t kib = 1024;
constexpr std::int64_t most_groups = 65535;  // of a grid's second dimension

std::int64_t round_up(std::int64_t value, std::int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

/// Dynamic shared memory one thread block can have.
std::int64_t shared_limit(const Target& target) {
    if (target.backend == Backend::hip) return 64 * kib;
    const auto capability = compute_capability(target);
    if (capability == 75) return 64 * kib;
    if (capability == 80 || capability == 87) return 163 * kib;
    if (capability == 90 || capability == 100 || capability == 103 || capability == 110) return 227 * kib;
    return 99 * kib;
}

/// Double-precision tensor instructions at full rate; other chips have them for compatibility only, or not at all.
bool has_fast_tensor(const Target& target) {
    if (target.backend == Backend::hip) return target.arch == "gfx90a" || target.arch == "gfx942";
    const auto capability = compute_capability(target);
    return capability == 80 || capability == 90 || capability == 100;
}

/// Everything a unit's constants follow from.
struct Plan {
    std::string variant = "fused";
    std::int64_t real = 8, padded = 0, tile = 0, threads = 0, sweep_threads = 0, inverse_threads = 0;
    std::int64_t leading = 0, columns = 0;  ///< of the panel in shared memory; right-hand sides a sweep treats at once
    std::int64_t row_vectors = 1;           ///< tiled: 16-byte vectors of rows a thread has
    std::int64_t parts = 1;                 ///< the columns of a panel are cut in, so that all threads load
    bool stage_factor = false;              ///< sweeps copy the factor to shared memory
    std::int64_t riders = 0, lower_leading = 0, stacked_leading = 0;  ///< dataflow: right-hand sides in the panel; its arrays
    std::int64_t team = 1;                                            ///< lanes that have a system
    std::int64_t factor_shared = 0, sweep_shared = 0, inverse_shared = 0, finish_shared = 0;
};

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

/// Blocks beyond this leave no room for a front in a thread block's registers and shared memory.
std::int64_t dataflow_limit(const Spec& spec) { return spec.precision == Precision::f64 ? 64 : 96; }

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
    plan.lower_leading = leading_for(plan.padded + plan.riders);
    plan.stacked_leading = leading_for(2 * plan.padded);
    const auto head = 24 + 8 + 16 * 4 + 8 * plan.padded + tiles * 64 * plan.real + plan.padded * plan.real;
    plan.factor_shared = round_up(head, 16) + (3 * plan.lower_leading + plan.stacked_leading) * plan.padded * plan.real;
    return plan;
}

/// Larger blocks leave a lane too few registers for its rows of the panel.
constexpr std::int64_t team_limit = 24;
constexpr std::int64_t least_team_batch = 64;  // fewer systems are better off with a thread block each

/// A system a team of lanes (FactorShared and SweepShared in templates/device/factor_team.cuh and sweep_team.cuh).
Plan team_plan(const Spec& spec, const Target& target) {
    Plan plan;
    plan.variant = "team";
    plan.real = element_bytes(spec.precision);
    const auto vector = 16 / plan.real;
    plan.padded = round_up(spec.block, vector);
    plan.tile = 1;
    plan.riders = plan.columns = std::min<std::int64_t>(spec.rhs, spec.precision == Precision::f64 ? 4 : 8);
    plan.team = 4;
    while (plan.team < std::min<std::int64_t>(2 * plan.padded, 32)) plan.team *= 2;
    const auto square = plan.padded * (plan.padded | 1), vectors = plan.riders * plan.padded;
    const auto factor = round_up((2 * plan.padded * plan.padded + 2 * (2 * square + vectors) + 2 * vectors) * plan.real, 16);
    const auto sweep = (2 * (2 * plan.padded * (plan.padded + vector) + vectors) + 2 * vectors) * plan.real;
    plan.threads = 2 * warp_lanes(target);
    while (plan.threads > warp_lanes(target) && plan.threads / plan.team * std::max(factor, sweep) > shared_limit(target))
        plan.threads /= 2;
    plan.sweep_threads = plan.threads;
    plan.factor_shared = plan.threads / plan.team * factor;
    plan.sweep_shared = plan.threads / plan.team * sweep;
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
        plan.sweep_shared = round_up(16 + ((plan.padded + 16 / plan.real) + 3 * plan.columns) * plan.padded * plan.real, 16);
    }
    plan.finish_shared = plan.threads * 24;
    const std::int64_t square = plan.padded <= 32 ? 32 : 64, band = std::max<std::int64_t>(plan.tile, 32);
    const std::int64_t inverse = band * (band + 4), factor = plan.tile == band ? 1 : inverse;
    plan.inverse_threads = square * square / 16;
    plan.inverse_shared = ((32 + band) * (square + 1) + factor + inverse) * plan.real;
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
    return spec.block <= dataflow_limit(spec) && schedule.levels == multi_stage(schedule.horizon).levels &&
           fits(flowing_plan(spec, target), target);
}

Plan tiles_flowing_plan(const Spec& spec, const Schedule& schedule) {
    Plan plan;
    plan.variant = "tile-dataflow";
    plan.real = element_bytes(spec.precision);
    plan.padded = round_up(spec.block, tiles::edge);
    plan.tile = tiles::edge;
    plan.threads = tiles::factor_threads;
    plan_sweeps(plan, spec);
    plan.columns = std::min<std::int64_t>(spec.rhs, 4);
    plan.sweep_threads = tiles::sweep_threads;
    plan.factor_shared = tiles::factor_shared(schedule, spec);
    plan.sweep_shared = tiles::sweep_shared(schedule, spec, plan.columns);
    return plan;
}

bool can_team(const Spec& spec, const Target& target, const Schedule& schedule) {
    return spec.block <= team_limit && schedule.levels == sequential(schedule.horizon).levels &&
           !spec.operations.contains(Operation::inverse) && fits(team_plan(spec, target), target);
}

Plan make_plan(const Spec& spec, const Target& target, const Schedule& schedule, std::string_view variant) {
    if (variant == "tile-dataflow" || (variant == "auto" && tiles_flow(spec, target, schedule))) {
        const auto plan = tiles_flowing_plan(spec, schedule);
        if (target.backend != Backend::cuda || !fits(plan, target))
            throw SpecError(
                fmt::format("variant 'tile-dataflow' needs CUDA and {} bytes of shared memory for n = {}, and {} has {}; give auto",
                            std::max({plan.factor_shared, plan.sweep_shared, plan.inverse_shared}), spec.block, to_string(target),
                            shared_limit(target)));
        return plan;
    }
    if (variant == "dataflow" && !can_flow(spec, target, schedule))
        throw SpecError(
            fmt::format("variant 'dataflow' is for the schedule multi-stage, blocks up to {} and what shared memory holds, not for n = {}, "
                        "{}, {}; give auto",
                        dataflow_limit(spec), spec.block, schedule.name, to_string(target)));
    if (variant == "team" && !can_team(spec, target, schedule))
        throw SpecError(fmt::format(
            "variant 'team' is for the schedule sequential, blocks up to {} and all operations but the selected inverse, not for "
            "n = {}, {}, {}, operations {}; give auto",
            team_limit, spec.block, schedule.name, to_string(target), to_string(spec.operations)));
    if (variant == "team" || (variant == "auto" && teams_up(spec, target, schedule))) return team_plan(spec, target);
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

/// Thread blocks a multiprocessor must hold for `registers` to be a thread's bound.
std::int64_t blocks_for(std::int64_t threads, std::int64_t registers) { return std::min<std::int64_t>(65536 / (threads * registers), 16); }

/// The same for a front that flows: as many as shared memory holds while a thread keeps its 168 registers, counted by the
/// four parts of a multiprocessor, each with 16384 registers.
std::int64_t dataflow_blocks(const Plan& plan) {
    constexpr std::int64_t warps_a_part = 16384 / (32 * 168);
    const auto warps = plan.threads / 32;
    return std::clamp<std::int64_t>(std::min(4 * warps_a_part / warps, 227 * kib / (plan.factor_shared + kib)), 1, 16);
}

std::int64_t factor_blocks(const Plan& plan, const Target& target) {
    if (plan.variant == "dataflow") return dataflow_blocks(plan);
    if (plan.variant == "team") return blocks_for(plan.threads, plan.padded <= 8 ? 128 : plan.padded <= 16 ? 168 : 255);
    if (plan.variant == "tile-dataflow")
        return std::clamp<std::int64_t>(shared_limit(target) / (plan.factor_shared + kib), 1, plan.real == 8 ? 3 : 4);
    return blocks_for(plan.threads, plan.padded <= 16 ? 255 : 168);  // with fewer registers the smallest fused fronts spill
}

/// Registers that a thread of a sweep keeps.
std::int64_t sweep_registers(const Plan& plan) {
    if (plan.variant == "tile-dataflow") return plan.columns == 1 ? 80 : 128;
    return plan.variant == "dataflow" || plan.variant == "team" ? 128 : 255;
}

/// With right-hand sides riding along, a front that flows needs more registers.
std::int64_t forward_blocks(const Plan& plan, const Target& target) {
    if (plan.variant == "dataflow") return std::max<std::int64_t>(dataflow_blocks(plan) - 1, 1);
    return plan.variant == "team" ? factor_blocks(plan, target) : 1;
}

/// Members that a thread block treats; teams treat theirs side by side.
std::int64_t members_per_group(const Spec& spec, const Plan& plan) {
    const auto together = plan.team > 1 ? plan.threads / plan.team : 1;
    return (spec.batch + most_groups * together - 1) / (most_groups * together) * together;
}

Shape shape(std::int64_t threads, std::int64_t members, std::int64_t shared) { return {1, members, static_cast<int>(threads), shared}; }

std::int64_t most_chains(const Schedule& schedule) {
    std::int64_t most = 1;
    for (const auto& level : schedule.levels) most = std::max(most, level.chains());
    return most;
}

/// The inverse of a chain longer than one front keeps two blocks of its own.
std::int64_t scratch_bytes(const Plan& plan, const Spec& spec, const Schedule& schedule) {
    const bool needed = std::ranges::any_of(schedule.levels, [](const Level& level) {
        return level.chains() > 1 && std::ranges::any_of(level.runs, [](const Run& run) { return run.length > 1; });
    });
    if (!needed || !spec.operations.contains(Operation::inverse)) return 0;
    const auto blocks = checked_multiply(2 * most_chains(schedule), spec.batch, "scratch of the inverse");
    return round_up(checked_multiply(blocks, plan.padded * plan.padded * plan.real, "scratch of the inverse"), workspace_alignment);
}

}  // namespace

bool flows(const Spec& spec, const Target& target, const Schedule& schedule) {
    return target.backend == Backend::cuda && can_flow(spec, target, schedule);
}

bool tiles_flow(const Spec& spec, const Target& target, const Schedule& schedule) {
    const std::int64_t most_fused = spec.precision == Precision::f64 ? 88 : 96;  // measured: see docs/performance.md
    const bool pays = spec.block > most_fused || !fits(whole_plan(spec, target), target);
    return target.backend == Backend::cuda && pays && !can_flow(spec, target, schedule) && fits(tiles_flowing_plan(spec, schedule), target);
}

bool teams_up(const Spec& spec, const Target& target, const Schedule& schedule) {
    constexpr std::int64_t measured_limit = 16;  // beyond, a lane has two rows, and less is known
    return target.backend == Backend::cuda && spec.block <= measured_limit && spec.batch >= least_team_batch &&
           can_team(spec, target, schedule);
}

Variant choose_variant(const Spec& spec, const Target& target, const Tuning& tuning, const Schedule& schedule) {
    constexpr std::array<std::string_view, 6> known{"auto", "dataflow", "fused", "team", "tile-dataflow", "tiled"};
    if (std::ranges::find(known, tuning.variant) == known.end())
        throw SpecError(fmt::format("unknown variant '{}' for {}; give auto, dataflow, fused, team, tile-dataflow or tiled", tuning.variant,
                                    to_string(target)));
    const auto plan = make_plan(spec, target, schedule, tuning.variant);
    const auto block = plan.padded * plan.padded;
    const auto both = std::max(plan.factor_shared, plan.sweep_shared), members = members_per_group(spec, plan);
    Variant variant{
        plan.variant, {}, {block, block, block, block, checked_multiply(plan.padded, spec.rhs, "right-hand sides")}, 0, spec.batch};
    variant.scratch_bytes = scratch_bytes(plan, spec, schedule);
    variant.shapes = {{Phase::factor, shape(plan.threads, members, plan.factor_shared)},
                      {Phase::factor_forward, shape(plan.threads, members, both)},
                      {Phase::forward, shape(plan.sweep_threads, members, plan.sweep_shared)},
                      {Phase::backward, shape(plan.sweep_threads, members, plan.sweep_shared)},
                      {Phase::inverse, shape(plan.inverse_threads, members, plan.inverse_shared)},
                      {Phase::finish_factor, shape(plan.threads, members, plan.finish_shared)},
                      {Phase::finish_forward, shape(plan.threads, members, plan.finish_shared)}};
    if (plan.variant == "dataflow")
        for (const auto phase : {Phase::factor, Phase::factor_forward, Phase::forward, Phase::backward})
            variant.shapes.at(phase).all_levels = true;
    variant.rhs_rides = plan.riders == 0 || spec.rhs <= plan.riders;
    variant.finishes = plan.variant != "team";
    if (plan.variant == "tile-dataflow") {
        for (const auto phase : {Phase::factor, Phase::forward, Phase::backward}) {
            auto& shape = variant.shapes.at(phase);
            shape.all_levels = true;
            shape.groups = phase == Phase::factor ? tiles::factor_groups(schedule, spec) : tiles::sweep_groups(schedule, spec);
            shape.members_per_task = spec.batch;
        }
        variant.progress = tiles::counts(spec);
        variant.rhs_rides = false;
    }
    return variant;
}

/// ptxas reports registers and spills in the log, where the runtime reads them; AMD's code objects carry them.
std::vector<std::string> compile_options(const Target& target, const Variant&) {
    if (target.backend == Backend::hip) return {"--offload-arch=" + target.arch, "-std=c++20", "-O3", "-Wno-pass-failed"};
    return {"-arch=" + target.arch, "-std=c++17", "--ptxas-options=-v", "--split-compile=4"};
}

std::string emit(const Program& program) {
    const auto& spec = program.spec;
    const auto plan = make_plan(spec, program.target, program.schedule, program.variant.name);
    const bool on_hip = program.target.backend == Backend::hip;
    auto text = emit_prologue(program);
    const std::pair<std::string_view, std::int64_t> constants[] = {
        on_hip ? std::pair{"WAVE", warp_lanes(program.target)} : std::pair{"ARCH", compute_capability(program.target)},
        {"PADDED", plan.padded},
        {"TILE", plan.tile},
        {"THREADS", plan.threads},
        {"PANEL_LEADING", plan.leading},
        {"SWEEP_COLUMNS", plan.columns},
        {"SWEEP_PARTS", plan.parts},
        {"STAGE_FACTOR", plan.stage_factor ? 1 : 0},
        {"MEMBERS_PER_GROUP", members_per_group(spec, plan)},
        {"TEAM", plan.team},
        {"RIDERS", plan.riders},
        {"LOWER_LEADING", plan.lower_leading},
        {"STACKED_LEADING", plan.stacked_leading},
        {"SHARED_FACTOR", plan.factor_shared},
        {"SHARED_SWEEP", plan.sweep_shared},
        {"TENSOR", spec.precision == Precision::f64 && has_fast_tensor(program.target) ? 1 : 0},
        {"ROW_VECTORS", plan.row_vectors},
        {"THREADS_INVERSE", plan.inverse_threads},
        {"SHARED_INVERSE", plan.inverse_shared},
        {"SCRATCH_CHAINS", most_chains(program.schedule)},
        {"OFFSET_SCRATCH", program.workspace_bytes - program.variant.scratch_bytes * program.tuning.workers},
        {"FACTOR_BLOCKS", factor_blocks(plan, program.target)},
        {"FACTOR_FORWARD_BLOCKS", forward_blocks(plan, program.target)},
        {"SWEEP_BLOCKS", blocks_for(plan.sweep_threads, sweep_registers(plan))},
    };
    for (const auto& [name, value] : constants)
        text += fmt::format("#define TRIFOLD_{} {}{}\n", name, value, value > 0x7fffffff ? "LL" : "");
    std::vector<std::string> parts{on_hip ? "platform_hip" : "platform", "common", "products", "panel"};
    const auto add = [&](std::initializer_list<const char*> names) { parts.insert(parts.end(), names.begin(), names.end()); };
    if (plan.variant == "team") add({"team", "factor_team", "sweep_team", "entry_team"});
    if (plan.variant == "fused") add({"factor_fused", "sweep"});
    if (plan.variant == "tiled") add({"tiles", "factor_tiled", "sweep"});
    if (plan.variant == "dataflow")
        add({"dataflow", "front_dataflow", "load_dataflow", "column_tile", "panel_dataflow", "factor_dataflow", "sweep_dataflow"});
    if (plan.variant == "tile-dataflow") add({"tile_tasks", "tile_products", "column_tile", "tile_pivots", "tile_factor", "tile_sweep"});
    if (has_kernel(program, Phase::inverse)) add({"inverse_tiles", "inverse"});
    const bool tiled = plan.variant == "tile-dataflow";
    if (plan.variant != "team")
        add({"finish", "entry", tiled ? "entry_tiles" : plan.variant == "dataflow" ? "entry_dataflow" : "entry_levels"});
    for (const auto& part : parts) {
        if (part == "tile_tasks") text += tiles::constants(program.schedule, spec);  // a table, in the platform's words
        text += fmt::format("\n{}", template_text("device/" + part + ".cuh"));
    }
    return text;
}

}  // namespace trifold::cuda
