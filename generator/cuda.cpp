#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <trifold/error.hpp>

#include "generator/cuda_plan.hpp"
#include "generator/cuda_tiles.hpp"
#include "generator/mixed.hpp"

namespace trifold::cuda {
namespace {

constexpr std::int64_t most_groups = 65535;  // of a grid's second dimension

/// Tensor instructions of full precision that are faster than plain ones: of double precision (other chips have them for compatibility
/// only, or not at all), of single precision by three products on the same chips of NVIDIA's, where a kernel can take them.
bool has_fast_tensor(const Target& target) {
    if (target.backend == Backend::hip) return target.arch == "gfx90a" || target.arch == "gfx942";
    const auto capability = compute_capability(target);
    return capability == 80 || capability == 90 || capability == 100;
}

bool splits_single(const Plan& plan, bool on_hip) { return !on_hip && plan.variant == "tile-dataflow"; }

/// Products of tiles in single precision by instructions of half precision.
bool has_halves(const Plan& plan, const Target& target) {
    return target.backend == Backend::cuda && plan.variant == "tile-dataflow" && plan.real == 4 && has_fast_tensor(target);
}

/// Thread blocks a multiprocessor must hold for `registers` to be a thread's bound.
std::int64_t blocks_for(std::int64_t threads, std::int64_t registers) { return std::min<std::int64_t>(65536 / (threads * registers), 16); }

/// Bound of the registers that a lane of a team has for so many words of rows; registers come in steps, as whole warps share a quarter of a
/// multiprocessor's. The steps are those at which nothing spills.
std::int64_t team_registers(std::int64_t words, std::int64_t most_of_128, std::int64_t most_of_168) {
    return words <= most_of_128 ? 128 : words <= most_of_168 ? 168 : 255;
}

/// Words of a lane's rows of the panels, and of their products while it factors.
std::int64_t panel_words(const Plan& plan) { return plan.panels * plan.padded * plan.real / 4; }
std::int64_t factor_words(const Plan& plan) { return (plan.panels > 2 ? 6 : 3) * plan.padded * plan.real / 4; }

/// Those of a thread of a front that flows, as many as spill nothing: [R; G] of larger blocks take more than half of all.
std::int64_t front_registers(const Plan& plan) { return plan.in_registers && plan.padded > 48 ? 255 : 168; }

std::int64_t factor_blocks(const Plan& plan, const Target& target) {
    if (plan.variant == "dataflow") return fronts_together(plan.threads, plan.factor_shared, front_registers(plan));
    if (plan.variant == "team") return blocks_for(plan.threads, team_registers(factor_words(plan), 48, 96));
    if (plan.variant == "tile-dataflow")
        return std::clamp<std::int64_t>(shared_limit(target) / (plan.factor_shared + kib), 1, plan.real == 8 ? 3 : 4);
    return blocks_for(plan.threads, plan.padded <= 16 ? 255 : 168);  // with fewer registers the smallest fused fronts spill
}

/// A front of a wide level is one warp's, or larger ones a warp's for 16 rows.
std::int64_t wide_threads(const Plan& plan) { return plan.padded <= 32 ? 32 : (plan.padded + 15) / 16 * 32; }
std::int64_t wide_blocks(const Plan& plan, const Spec& spec, const Target& target) {
    const bool one_warp = plan.padded <= 32, single = plan.real == 4;
    std::int64_t registers = 168;  // nothing spills
    if (one_warp && !single) registers = 255;
    if (plan.padded <= 16 || (!one_warp && single)) registers = 128;
    const auto fronts = spec.batch * (spec.horizon - (spec.horizon >> plan.wide_levels));
    return std::min({blocks_for(wide_threads(plan), registers), (shared_limit(target) + kib) / (plan.wide_shared + kib),
                     (fronts + multiprocessors - 1) / multiprocessors});
}

/// Shared memory that lets a multiprocessor have no more thread blocks than these.
std::int64_t room_for(std::int64_t blocks, const Target& target) { return shared_limit(target) / (blocks + 1) + kib; }

/// ... no more than its share of few: those that begin as others leave would crowd where that happens first.
std::int64_t spread_evenly(std::int64_t blocks, const Target& target) {
    return room_for((blocks + multiprocessors - 1) / multiprocessors, target);
}

/// Fronts in single precision need so few registers that a multiprocessor would have more of them than their pivots can share; measured up
/// to 512 fronts.
bool crowds(const Plan& plan, const Spec& spec) { return plan.in_registers && plan.padded > 16 && spec.horizon * spec.batch <= 512; }

/// Of sweeps: so many fronts that nobody waits for one of them; measured.
bool has_many_fronts(const Plan& plan, const Spec& spec) {
    return plan.variant == "dataflow" && spec.horizon * spec.batch >= 4096 && plan.padded > (plan.real == 8 ? 8 : 16);
}

/// Whether sweeps make anew what follows from a thread's index: where fronts are many, so that more of them at once are worth the
/// instructions, and where registers would spill otherwise.
bool sweeps_anew(const Plan& plan, const Spec& spec) {
    if (plan.variant != "dataflow") return false;
    const bool spills = plan.padded > 32 && (plan.columns > 1 || plan.padded == 56 || (plan.padded == 48 && plan.real == 4));
    return spills || (plan.is_long && plan.padded % 16 == 8 && plan.padded > 16) || has_many_fronts(plan, spec);
}

/// Registers that a thread of a sweep keeps.
std::int64_t sweep_registers(const Plan& plan, const Spec& spec) {
    if (plan.variant == "tile-dataflow") return plan.columns == 1 ? 80 : 128;
    if (plan.variant == "team") return team_registers(panel_words(plan), 32, 64);
    if (plan.variant == "dataflow" && plan.columns == 1) {  // as few as spill nothing
        const bool many = has_many_fronts(plan, spec);
        if (plan.real == 4 && plan.padded <= 64 && many) return plan.padded <= 32 ? 56 : plan.padded == 56 ? 72 : 64;
        if (plan.real == 4 && plan.padded <= 64) return plan.padded <= 32 ? 64 : 80;
        if (plan.padded <= 48 && many) return plan.padded <= 24 ? 64 : plan.padded == 32 ? 72 : 96;
        if (plan.padded <= 32) return plan.is_long ? 96 : 128;
    }
    return plan.variant == "dataflow" ? 128 : 255;
}

/// With right-hand sides riding along, a front that flows needs more registers.
std::int64_t forward_blocks(const Plan& plan, const Target& target) {
    if (plan.variant == "dataflow") return factor_blocks(plan, target);
    const bool many_riders = plan.real == 4 && plan.riders > plan.padded;
    return plan.variant == "team" ? blocks_for(plan.threads, team_registers(factor_words(plan), many_riders ? 0 : 40, 72)) : 1;
}

/// Whether launches begin while the one before them ends, and wait for its fronts. Long horizons are bound by work, not by latency.
bool overlaps(const Plan& plan, const Target& target) {
    return plan.variant == "dataflow" && target.backend == Backend::cuda && compute_capability(target) >= 90 && !plan.is_long;
}

/// Members that a thread block treats; teams treat theirs side by side.
std::int64_t members_per_group(const Spec& spec, const Plan& plan) {
    const auto together = plan.members_together;
    return (spec.batch + most_groups * together - 1) / (most_groups * together) * together;
}

/// Chains of a member that a thread block has side by side.
std::int64_t chains_together(const Plan& plan) { return plan.variant == "team" ? plan.threads / plan.team / plan.members_together : 1; }

/// Rows of a block that threads of one thread block have, one each, in mixed_phases.
struct Parts {
    static constexpr std::int64_t threads = 128, shared = 3 * threads * 8;
    explicit Parts(std::int64_t block)
        : count((block + threads - 1) / threads), rows((block + count - 1) / count), together(threads / rows) {}
    std::int64_t count, rows, together;  ///< parts of a block; rows of a part; parts of one thread block
};

std::int64_t mixed_members(const Spec& spec) { return (spec.batch + most_groups - 1) / most_groups; }

Shape shape(std::int64_t threads, std::int64_t members, std::int64_t shared) { return {1, members, static_cast<int>(threads), shared}; }

std::int64_t most_chains(const Schedule& schedule) {
    std::int64_t most = 1;
    for (const auto& level : schedule.levels) most = std::max(most, level.chains());
    return most;
}

/// The inverse of a chain longer than one front keeps two blocks of its own.
std::int64_t scratch_bytes(const Plan& plan, const Spec& spec, const Schedule& schedule) {
    const bool needed = std::ranges::any_of(schedule.levels, [](const Level& level) { return level.chains() > 1 && level.longest() > 1; });
    if (!needed || !spec.operations.contains(Operation::inverse)) return 0;
    const auto blocks = checked_multiply(2 * most_chains(schedule), spec.batch, "scratch of the inverse");
    return round_up(checked_multiply(blocks, plan.padded * plan.padded * plan.real, "scratch of the inverse"), workspace_alignment);
}

std::string mixed_text(const Spec& spec) {
    const Parts parts(spec.block);
    return fmt::format(
        "\n#define TRIFOLD_MIXED_THREADS {}\n#define TRIFOLD_PART_ROWS {}\n#define TRIFOLD_ROW_PARTS {}\n#define TRIFOLD_MIXED_MEMBERS {}\n"
        "#define TRIFOLD_MIXED_FUNCTION TRIFOLD_DEVICE\n{}\n{}",
        parts.threads, parts.rows, parts.count, mixed_members(spec), template_text("mixed.h"), template_text("device/mixed.cuh"));
}

}  // namespace

Variant choose_variant(const Spec& spec, const Target& target, const Tuning& tuning, const Schedule& schedule) {
    constexpr std::array<std::string_view, 6> known{"auto", "dataflow", "fused", "team", "tile-dataflow", "tiled"};
    if (std::ranges::find(known, tuning.variant) == known.end())
        throw SpecError(
            fmt::format("unknown variant '{}' for {}; give one of {}", tuning.variant, to_string(target), fmt::join(known, ", ")));
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
                      {Phase::finish_factor, shape(plan.finish_threads, members, plan.finish_shared)},
                      {Phase::finish_forward, shape(plan.finish_threads, members, plan.finish_shared)}};
    if (crowds(plan, spec))
        for (const auto phase : {Phase::factor, Phase::factor_forward}) {
            auto& bytes = variant.shapes.at(phase).shared_bytes;
            bytes = std::max(bytes, room_for(factor_blocks(plan, target), target));
        }
    if (plan.variant == "dataflow") variant.words = plan.real / 4;
    if (plan.wide_levels > 0) {
        variant.wide_levels = plan.wide_levels;
        auto& wide = variant.shapes[Phase::factor_wide] = shape(wide_threads(plan), members, plan.wide_shared);
        wide.all_levels = true;
        auto& above = variant.shapes.at(Phase::factor);
        above.groups = spec.horizon >> plan.wide_levels;
        above.shared_bytes = std::max(plan.factor_shared, spread_evenly(above.groups * spec.batch, target));
        wide.groups = spec.horizon - above.groups;
    }
    for (const auto phase : {Phase::factor, Phase::factor_forward, Phase::forward, Phase::backward}) {
        variant.shapes.at(phase).all_levels = plan.variant == "dataflow";
        variant.shapes.at(phase).chains_per_task = chains_together(plan);
    }
    variant.message_words = plan.message_fronts * 2 * plan.padded * (plan.padded + plan.riders) * plan.real / 8;
    const Parts parts(spec.block);
    variant.row_parts = parts.count;
    for (const auto phase : mixed_phases)
        variant.shapes[phase] = {parts.together, mixed_members(spec), static_cast<int>(parts.threads), parts.shared};
    variant.rhs_rides = plan.riders == 0 || (spec.rhs <= plan.riders && plan.rides);
    variant.finishes = plan.variant != "team";
    variant.overlaps = overlaps(plan, target) && members == 1;
    if (plan.variant == "tile-dataflow") {
        for (const auto phase : {Phase::factor, Phase::forward, Phase::backward}) {
            auto& shape = variant.shapes.at(phase);
            shape.all_levels = true;
            shape.groups =
                phase == Phase::factor ? tiles::factor_groups(schedule, spec, plan.tile) : tiles::sweep_groups(schedule, spec, plan.tile);
            shape.members_per_task = spec.batch;
        }
        variant.progress = tiles::counts(spec, plan.tile);
        if (has_halves(plan, target)) variant.half_panels = has_fill(schedule) ? 3 : 2;
        variant.log_parts = plan.padded / plan.tile;
        variant.rhs_rides = false;
    }
    return variant;
}

void assign_images(std::vector<Kernel>& kernels) {
    constexpr std::array slow{Phase::factor_wide, Phase::factor, Phase::factor_forward, Phase::forward, Phase::backward, Phase::inverse};
    std::size_t images = 0;
    const auto takes_long = [&](const Kernel& kernel) { return std::ranges::find(slow, kernel.phase) != slow.end(); };
    for (auto& kernel : kernels)
        if (takes_long(kernel)) kernel.image = images++;
    for (auto& kernel : kernels)
        if (!takes_long(kernel)) kernel.image = images;
}

/// ptxas reports registers and spills in the log, where the runtime reads them; AMD's code objects carry them.
std::vector<std::string> compile_options(const Target& target, const Variant&) {
    if (target.backend == Backend::hip) return {"--offload-arch=" + target.arch, "-std=c++20", "-O3", "-Wno-pass-failed"};
    return {"-arch=" + target.arch, "-std=c++17", "--ptxas-options=-v", "--split-compile=4"};
}

std::string emit(const Program& program) {
    const auto spec = inner_spec(program.spec);
    const auto plan = make_plan(spec, program.target, program.schedule, program.variant.name);
    const bool on_hip = program.target.backend == Backend::hip;
    auto text = emit_prologue(program);
    const std::pair<std::string_view, std::int64_t> constants[] = {
        on_hip ? std::pair{"WAVE", warp_lanes(program.target)} : std::pair{"ARCH", compute_capability(program.target)},
        {"PADDED", plan.padded},
        {"TILE", plan.tile},
        {"HALF_PANELS", program.variant.half_panels},
        {"IN_TILES", plan.variant == "tile-dataflow" ? 1 : 0},
        {"THREADS", plan.threads},
        {"PANEL_LEADING", plan.leading},
        {"SWEEP_COLUMNS", plan.columns},
        {"SWEEP_PARTS", plan.parts},
        {"SWEEP_ANEW", sweeps_anew(plan, spec) ? 1 : 0},
        {"STAGE_FACTOR", plan.stage_factor ? 1 : 0},
        {"MEMBERS_PER_GROUP", members_per_group(spec, plan)},
        {"TEAM", plan.team},
        {"PANELS", plan.panels},
        {"CHAINS_PER_GROUP", chains_together(plan)},
        {"RIDERS", plan.riders},
        {"LOWER_LEADING", plan.lower_leading},
        {"STACKED_LEADING", plan.stacked_leading},
        {"FRONT_ROOM", plan.front_room ? 1 : 0},
        {"STACK_IN_REGISTERS", plan.in_registers ? 1 : 0},
        {"MULTIPROCESSORS", multiprocessors},
        {"OVERLAPS", program.variant.overlaps ? 1 : 0},
        {"MESSAGE_LEVEL", plan.message_level},
        {"MESSAGE_FRONTS", plan.message_fronts},
        {"SHARED_FACTOR", plan.factor_shared},
        {"WIDE_LEVELS", plan.wide_levels},
        {"SHARED_WIDE", plan.wide_shared},
        {"WIDE_THREADS", plan.wide_levels > 0 ? wide_threads(plan) : 0},
        {"WIDE_BLOCKS", plan.wide_levels > 0 ? wide_blocks(plan, program.spec, program.target) : 1},
        {"SHARED_SWEEP", plan.sweep_shared},
        {"TENSOR",
         has_fast_tensor(program.target) && (spec.precision == Precision::f64 || plan.in_registers || splits_single(plan, on_hip)) ? 1 : 0},
        {"ROW_VECTORS", plan.row_vectors},
        {"THREADS_INVERSE", plan.inverse_threads},
        {"SHARED_INVERSE", plan.inverse_shared},
        {"THREADS_FINISH", plan.finish_threads},
        {"LOG_PARTS", program.variant.log_parts},
        {"SCRATCH_CHAINS", most_chains(program.schedule)},
        {"OFFSET_SCRATCH", program.workspace_bytes - program.variant.scratch_bytes * program.tuning.workers},
        {"FACTOR_BLOCKS", factor_blocks(plan, program.target)},
        {"FACTOR_FORWARD_BLOCKS", forward_blocks(plan, program.target)},
        {"SWEEP_BLOCKS", blocks_for(plan.sweep_threads, sweep_registers(plan, spec))},
    };
    for (const auto& [name, value] : constants)
        text += fmt::format("#define TRIFOLD_{} {}{}\n", name, value, value > 0x7fffffff ? "LL" : "");
    std::vector<std::string> parts{on_hip ? "platform_hip" : "platform", "common", "products", "panel"};
    const auto add = [&](std::initializer_list<const char*> names) { parts.insert(parts.end(), names.begin(), names.end()); };
    if (plan.variant == "team") add({"team", "factor_team", "sweep_team"});
    if (plan.variant == "fused") add({"factor_fused", "sweep"});
    if (plan.variant == "tiled") add({"products_tiled", "factor_tiled", "sweep"});
    if (plan.variant == "dataflow")
        add({"dataflow", "front_dataflow", "message_dataflow", "load_dataflow", "column_tile", "panel_dataflow", "stack_dataflow",
             "factor_dataflow", "sweep_dataflow"});
    if (plan.wide_levels > 0) add({"wide_dataflow"});
    if (plan.variant == "tile-dataflow")
        add({"tile_tasks", "tile_products", "tile_halves", "column_tile", "tile_pivots", "tile_stages", "tile_factor", "tile_sweep"});
    if (has_kernel(program, Phase::inverse)) add({"inverse_tiles", "inverse"});
    const auto* entry = plan.variant == "dataflow"        ? "entry_dataflow"
                        : plan.variant == "tile-dataflow" ? "entry_tile_dataflow"
                        : plan.variant == "team"          ? "entry_team"
                                                          : "entry_levels";
    if (plan.variant != "team") add({"finish"});
    add({"entry", entry});
    for (const auto& part : parts) {
        if (part == "tile_tasks")
            text += tiles::constants(program.schedule, spec, program.target, plan.tile);  // a table, in the platform's words
        text += fmt::format("\n{}", template_text("device/" + part + ".cuh"));
    }
    if (program.spec.precision == Precision::mixed) text += mixed_text(program.spec);
    return text;
}

}  // namespace trifold::cuda
