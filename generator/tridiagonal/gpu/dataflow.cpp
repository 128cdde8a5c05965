/// Variant "dataflow": small fronts, all levels of multi-stage in one launch, or in two: the first, wide levels have one of their own.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "generator/program/require.hpp"
#include "generator/tridiagonal/design.hpp"
#include "generator/tridiagonal/gpu/model.hpp"

namespace trifold::gpu::dataflow_shared {
#include "templates/gpu/tridiagonal/dataflow/shared.h"
#include "templates/gpu/tridiagonal/dataflow/wide_shared.h"
}  // namespace trifold::gpu::dataflow_shared

namespace trifold::gpu {
namespace {

struct DataflowSizes : Sizes {
    std::int64_t riders = 1;                              ///< right-hand sides in the panel
    std::int64_t lower_leading = 0, stacked_leading = 0;  ///< elements between columns of D and of [R; G] in shared memory
    std::int64_t message_level = 0, message_fronts = 0;   ///< fronts that send messages, from this level on
    bool front_room = true;                               ///< for the blocks that a front pulls
    bool is_long = false;                                 ///< more fronts than a device has room for
    bool is_crowded = false;                              ///< ... in the launch that factors all but the wide levels
    bool in_registers = false;                            ///< [R; G], by tensor instructions of double precision
    bool rides = true;                                    ///< a forward sweep with the factorization
    std::int64_t sharers = 1;                             ///< thread blocks that share a front's panels of right-hand sides in a sweep
    std::int64_t wide_levels = 0;                         ///< first levels, by a launch of their own
    std::int64_t wide_shared = 0;                         ///< bytes that a front of a wide level shares
};

/// Larger blocks leave no room for a front in a thread block's shared memory, or have more tiles than there are named barriers.
constexpr std::int64_t largest_block = 96;
/// Larger blocks have no rows for right-hand sides.
constexpr std::int64_t largest_riding = 64;
/// Larger blocks have more rows than there are threads that look for messages.
constexpr std::int64_t largest_with_messages = 32;
/// A front of a wide level has at most four warps, each with 16 rows.
constexpr std::int64_t largest_wide = 64;
/// More right-hand sides go in several calls, since each has a place in the workspace for every block.
constexpr std::int64_t max_columns = 256;
/// Flops of a front with both neighbours, in thirds of n^3.
constexpr double full_front_thirds = 19;

/// Blocks of the path: all of a chain, and all of a ring but the last block, the tip, which stays to the end.
std::int64_t path_of(const Spec& spec) { return spec.ring ? spec.horizon - 1 : spec.horizon; }

/// Quantities that rows of dataflow ask about.
Quantities quantities_of(const Problem& problem, const DataflowSizes& sizes) {
    return gpu::quantities_of(problem, sizes) + Quantities{{"is_padded", static_cast<double>(problem.spec.block < sizes.padded)},
                                                           {"padded_mod_16", static_cast<double>(sizes.padded % 16)},
                                                           {"in_registers", static_cast<double>(sizes.in_registers)},
                                                           {"is_long", static_cast<double>(sizes.is_long)}};
}

bool is_long(const Problem& problem, std::int64_t fronts) {
    return take(problem, "is_long", {{"fronts", static_cast<double>(fronts)}}) != 0;
}

/// Thread blocks on a multiprocessor: as many as shared memory and registers have room for. Each quarter of a multiprocessor has registers
/// of its own.
std::int64_t fronts_together(const Problem& problem, const DataflowSizes& sizes, std::int64_t shared) {
    const auto& device = device_of(problem.target);
    const auto registers = take(problem, "front_registers", quantities_of(problem, sizes));
    const auto warps_a_part = device.count("facts.registers") / 4 / (32 * registers);
    const auto room = device.count("facts.multiprocessor_shared_bytes") / (shared + kib);
    return std::clamp<std::int64_t>(std::min(4 * warps_a_part / (sizes.threads / 32), room), 1, device.count("facts.blocks"));
}

/// The first levels of a long horizon are wide, as long as they have enough fronts.
void plan_wide(DataflowSizes& sizes, const Problem& problem) {
    const auto& spec = problem.spec;
    const auto path = path_of(spec);
    if (!sizes.is_long || sizes.padded > largest_wide || !device_of(problem.target).has("deep_tensor")) return;
    sizes.wide_shared = dataflow_shared::wide_bytes(sizes.padded, sizes.lower_leading, has_signs(spec), sizes.real);
    const auto min_fronts = take(problem, "wide_least_fronts", quantities_of(problem, sizes));
    while (path >> (sizes.wide_levels + 1) > 0 && spec.batch * (((path >> sizes.wide_levels) + 1) / 2) >= min_fronts) ++sizes.wide_levels;
}

/// Fronts send [R; G] as messages from the level on where there are few of them.
void plan_messages(DataflowSizes& sizes, const Problem& problem) {
    const auto& spec = problem.spec;
    if (!sizes.in_registers || sizes.padded > largest_with_messages || sizes.is_crowded) return;
    const auto max_fronts = take(problem, "message_fronts", quantities_of(problem, sizes));
    sizes.message_level = sizes.wide_levels;
    while (spec.batch * (path_of(spec) >> sizes.message_level) > max_fronts) ++sizes.message_level;
    sizes.message_fronts = path_of(spec) >> sizes.message_level;
    if (sizes.message_fronts < 2) sizes.message_level = sizes.message_fronts = 0;
}

/// Panels have 1, 2, 4 or 8 columns.
void plan_sweeps(DataflowSizes& sizes, const Problem& problem) {
    const auto most = take(problem, "sweep_columns", trifold::quantities_of(problem));
    sizes.columns = std::min(static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(problem.spec.rhs))), most);
    sizes.sweep_threads = 4 * sizes.padded;
    sizes.sweep_shared = dataflow_shared::sweep_bytes(sizes.padded, sizes.columns, sizes.real);
}

std::int64_t factor_shared(const DataflowSizes& sizes, bool has_room, const Spec& spec) {
    return dataflow_shared::front_bytes(sizes.padded, sizes.lower_leading, sizes.stacked_leading, has_room, has_signs(spec), sizes.real);
}

/// Decides whether a front has room in shared memory for the blocks that it pulls. Where fronts crowd, it is worth more to have more of
/// them on a multiprocessor.
void plan_room(DataflowSizes& sizes, const Problem& problem) {
    sizes.factor_shared = factor_shared(sizes, true, problem.spec);
    const auto least = factor_shared(sizes, false, problem.spec);
    if (problem.target.backend == Backend::cuda) {
        const auto more = fronts_together(problem, sizes, least) > fronts_together(problem, sizes, sizes.factor_shared);
        sizes.front_room = sizes.factor_shared <= shared_limit(problem.target) && !(sizes.is_crowded && more);
    }
    if (!sizes.front_room) sizes.factor_shared = least;
}

/// Whether a forward sweep can ride with the factorization. Where [R; G] is in registers, flags tell a front that its right-hand sides are
/// there, and only launches that overlap have flags. Also one warp then holds all right-hand sides, a lane a row. Nor where thread blocks
/// share the right-hand sides: its last front begins the backward sweep of all.
bool can_ride(const DataflowSizes& sizes, const Problem& problem) {
    if (sizes.sharers > 1) return false;
    if (!sizes.in_registers) return sizes.padded <= largest_riding;
    const bool has_flags = device_of(problem.target).has("early_launches") && !sizes.is_long && members_per_group(problem.spec) == 1;
    return has_flags && sizes.padded <= warp_lanes(problem.target);
}

/// Thread blocks of a sweep on a multiprocessor.
std::int64_t sweep_blocks(const Problem& problem, const DataflowSizes& sizes) {
    auto of = quantities_of(problem, sizes);
    of["sweep_is_full"] = static_cast<double>(take(problem, "sweep_is_full", of));
    return blocks_for(problem.target, sizes.sweep_threads, take(problem, "sweep_registers", of));
}

std::int64_t panels_of(const Problem& problem, const DataflowSizes& sizes) {
    return (problem.spec.rhs + sizes.columns - 1) / sizes.columns;
}

/// Thread blocks share a front's panels where fronts alone would not fill the device for some waves. There are few such numbers, so that
/// few texts serve all horizons.
std::int64_t sharers_of(const Problem& problem, const DataflowSizes& sizes) {
    const auto panels = panels_of(problem, sizes), fronts = problem.spec.horizon * problem.spec.batch;
    if (panels == 1) return 1;
    const auto room = device_of(problem.target).count("facts.multiprocessor_shared_bytes") / (sizes.sweep_shared + kib);
    const auto wave = multiprocessors(problem.target) * std::clamp<std::int64_t>(room, 1, sweep_blocks(problem, sizes));
    const auto wanted = take(problem, "sweep_waves", quantities_of(problem, sizes)) * wave;
    return std::min(panels, static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>((wanted + fronts - 1) / fronts))));
}

/// Two warps take turns at D's column tiles. Each lane of the other warps has a row of [R; G]. A block is padded to whole strips: a warp of
/// 64 lanes multiplies strips of 16 columns.
DataflowSizes sizes_of(const Problem& problem) {
    const auto& [spec, target, schedule, workers, knobs] = problem;
    DataflowSizes sizes;
    sizes.real = element_bytes(spec.precision);
    const auto lanes = warp_lanes(target);
    sizes.padded = round_up(spec.block, lanes / 4);
    sizes.tile = 8;
    sizes.riders = std::min<std::int64_t>(spec.rhs, 8);
    const auto tiles = sizes.padded / 8;
    sizes.threads = lanes * (std::min<std::int64_t>(tiles, 2) + (2 * sizes.padded + lanes - 1) / lanes);
    sizes.lower_leading = conflict_free(sizes.padded + (sizes.padded <= largest_riding ? sizes.riders : 0));
    sizes.stacked_leading = conflict_free(2 * sizes.padded);
    plan_sweeps(sizes, problem);
    sizes.is_long = is_long(problem, spec.horizon * spec.batch);
    plan_wide(sizes, problem);
    sizes.is_crowded = is_long(problem, spec.batch * (spec.horizon >> sizes.wide_levels));
    plan_room(sizes, problem);
    sizes.in_registers = sizes.front_room && device_of(target).has("deep_tensor");
    sizes.sharers = sharers_of(problem, sizes);
    sizes.rides = can_ride(sizes, problem) && take(problem, "rides", quantities_of(problem, sizes)) != 0;
    plan_messages(sizes, problem);
    return sizes;
}

std::string refuses(const Problem& problem) {
    const auto sizes = sizes_of(problem);
    const auto rides = problem.knobs.pinned.find("rides");
    if (rides != problem.knobs.pinned.end() && rides->second != 0 && !sizes.rides)
        return "variant 'dataflow' cannot sweep forward while it factors such a problem; leave out rides=1";
    return fits(sizes, problem.target) ? "" : too_large(dataflow_variant.name, sizes, problem);
}

/// One warp has a front of a wide level; larger fronts have a warp for each 16 rows.
std::int64_t wide_threads(const DataflowSizes& sizes) { return sizes.padded <= 32 ? 32 : (sizes.padded + 15) / 16 * 32; }

/// Shared memory with which a multiprocessor has room for `blocks` thread blocks, and no more.
std::int64_t room_for(std::int64_t blocks, const Target& target) { return shared_limit(target) / (blocks + 1) + kib; }

/// Shared memory with which a multiprocessor has room for its share of `blocks` thread blocks. Otherwise those that begin as others leave
/// would crowd where others leave first.
std::int64_t spread_evenly(std::int64_t blocks, const Target& target) {
    return room_for((blocks + multiprocessors(target) - 1) / multiprocessors(target), target);
}

/// Fronts of a member at the wide levels.
std::int64_t wide_fronts(const Spec& spec, const DataflowSizes& sizes) { return path_of(spec) - (path_of(spec) >> sizes.wide_levels); }

/// Parts a factorization into two launches: the wide levels, then those above. The second begins while the first is at work.
void lower_wide(Lowered& lowered, const Problem& problem, const DataflowSizes& sizes) {
    const auto& [spec, target, schedule, workers, knobs] = problem;
    auto& above = lowered.shapes.at(Phase::factor);
    above.groups = spec.horizon - wide_fronts(spec, sizes);
    above.shared_bytes = std::max(sizes.factor_shared, spread_evenly(above.groups * spec.batch, target));
    auto& wide = lowered.shapes[Phase::factor_wide] = above;
    wide.threads = static_cast<int>(wide_threads(sizes));
    wide.shared_bytes = sizes.wide_shared;
    wide.groups = wide_fronts(spec, sizes);
    for (auto& [operation, phases] : lowered.phases)
        if (const auto factor = std::ranges::find(phases, Phase::factor); factor != phases.end()) phases.insert(factor, Phase::factor_wide);
}

/// A thread block has 16 named barriers, at which its warps meet. Each launch needs at least one front, since thread blocks claim fronts by
/// number.
void require_fronts(const Problem& problem, const DataflowSizes& sizes) {
    const auto tiles = sizes.padded / sizes.tile, barriers = sizes.message_fronts > 0 ? 6 + 2 * tiles : 4 + tiles;
    require(barriers <= 16 && sizes.padded % sizes.tile == 0, "{} tiles of {} rows meet at {} barriers", tiles, sizes.padded, barriers);
    require(sizes.padded <= largest_with_messages || sizes.message_fronts == 0, "messages have {} rows", sizes.padded);
    require(sizes.wide_levels == 0 || (sizes.padded <= largest_wide && path_of(problem.spec) >> sizes.wide_levels > 0),
            "{} wide levels of {} blocks of {} rows leave no front", sizes.wide_levels, path_of(problem.spec), sizes.padded);
    require(!sizes.rides || !sizes.in_registers || sizes.padded <= warp_lanes(problem.target), "{} rows ride on a warp", sizes.padded);
}

Lowered lower(const Problem& problem) {
    const auto& spec = problem.spec;
    const auto sizes = sizes_of(problem);
    require_fronts(problem, sizes);
    auto result = lower_common(problem, sizes, members_per_group(spec));
    result.phases = phases_of(problem, sizes, dataflow_variant.abilities, spec.rhs <= sizes.riders && sizes.rides);
    for (const auto phase : {Phase::factor, Phase::factor_forward, Phase::forward, Phase::backward})
        result.shapes.at(phase).all_levels = true;
    for (const auto phase : {Phase::forward, Phase::backward}) result.shapes.at(phase).groups_per_chain = sizes.sharers;
    if (take(problem, "crowds", quantities_of(problem, sizes)) != 0)
        for (const auto phase : {Phase::factor, Phase::factor_forward}) {
            auto& bytes = result.shapes.at(phase).shared_bytes;
            bytes = std::max(bytes, room_for(fronts_together(problem, sizes, sizes.factor_shared), problem.target));
        }
    if (sizes.wide_levels > 0) lower_wide(result, problem, sizes);
    return result;
}

/// Whether launches begin while the one before them ends, and wait for its fronts one by one. Long horizons gain nothing, since they are
/// bound by work and not by latency. Corrections of mixed precision cannot follow such launches.
bool overlaps(const Design& design, const DataflowSizes& sizes) {
    return device_of(design.target).has("early_launches") && !sizes.is_long && members_per_group(design.spec) == 1 && !is_wrapped(design);
}

MemoryPlan memory(const Design& design) {
    const auto sizes = sizes_of(problem_of(design));
    const auto blocks = blocks_of(design), both = checked_multiply(2, blocks, "right-hand sides of the batch");
    MemoryPlan plan;
    add_results(plan, design);
    add_factors(plan, design);
    add_updates(plan, design, both, 0);  // fronts pull what updates them, so no blocks are kept for it
    add_verdicts(plan, design, 1);
    add_progress(plan, design, sizes.wide_levels > 0 ? 4 : 3, 1);
    // Fronts of a sweep send one another words of 8 bytes, which are stamped with the number of the run.
    const auto words = checked_multiply(design.lowered.storage.vector, sizes.real / 4, "words of a block's right-hand sides");
    plan.add("update_words", both, words, sizeof(std::uint64_t), true);
    plan.add("solution_words", blocks, words, sizeof(std::uint64_t), true);
    plan.add("forward_words", overlaps(design, sizes) ? blocks : 0, words, sizeof(std::uint64_t), true);
    // Fronts of a factorization send one another R and G in addition to their flags.
    const auto message = sizes.message_fronts * 2 * sizes.padded * (sizes.padded + sizes.riders) * sizes.real / 8;
    plan.add("signs", has_signs(design.spec) ? both : 0, sizes.padded, sizes.real);
    plan.add("message", design.lowered.members, message, sizeof(trifold_int), true);
    return plan;
}

/// The factorization of the levels above the wide ones begins while those are at work; later launches wait for both.
void begin_above_wide_levels(std::vector<Step>& steps, const Design& design, std::int64_t wide_levels) {
    for (std::size_t wide = 0; wide + 1 < steps.size(); ++wide) {
        if (design.kernels[steps[wide].kernel].phase != Phase::factor_wide) continue;
        const auto above = wide + 1;
        steps[wide].levels = wide_levels == 1 ? "level 0" : fmt::format("levels 0 to {}", wide_levels - 1);
        steps[above].levels = fmt::format("levels from {} on", wide_levels);
        steps[above].early = true;
        for (auto k = above + 1; k < steps.size(); ++k)
            if (steps[k].after == std::vector{above}) steps[k].after = {wide, above};
    }
}

/// Backward sweeps and the kernel that gathers the verdict begin while the launch that they wait for is at work. See trifold_start in
/// generator/trifold/tridiagonal_args.h.
void overlap(std::vector<Step>& steps, const Design& design) {
    const auto phase_of = [&](const Step& step) { return design.kernels[step.kernel].phase; };
    for (auto& step : steps) {
        const bool backward = phase_of(step) == Phase::backward;
        if (step.after.empty() || (!backward && phase_of(step) != Phase::finish_factor)) continue;
        auto& before = steps[step.after.front()];
        step.early = true;
        step.start = phase_of(before) == Phase::forward ? trifold_during_forward : trifold_during_factor;
        if (backward) before.start = step.start;  // leaves words for it
    }
}

std::vector<Step> steps(const Design& design, Operation operation) {
    auto result = plain_steps(design, operation);
    const auto sizes = sizes_of(problem_of(design));
    begin_above_wide_levels(result, design, sizes.wide_levels);
    if (overlaps(design, sizes)) overlap(result, design);
    return result;
}

std::int64_t wide_blocks(const Problem& problem, const DataflowSizes& sizes) {
    const auto& [spec, target, schedule, workers, knobs] = problem;
    const auto registers = take(problem, "wide_registers", quantities_of(problem, sizes));
    const auto fronts = spec.batch * wide_fronts(spec, sizes);
    return std::min({blocks_for(target, wide_threads(sizes), registers), (shared_limit(target) + kib) / (sizes.wide_shared + kib),
                     (fronts + multiprocessors(target) - 1) / multiprocessors(target)});
}

/// Blocks of n by n of a front that pass through the memory: D, E, updates and couplings of later levels, L, R and G. A sweep reads L, R
/// and G.
constexpr double factored_blocks = 4.5, swept_blocks = 2.5;

/// A launch takes as long as its levels, one after another, or as all its fronts where they take turns on the multiprocessors. Wide levels
/// come before the others.
double small_seconds(const Problem& problem, const DataflowSizes& sizes, const KnownDevice& device) {
    const Model model(device, dataflow_variant.name, problem);
    const auto rows = static_cast<double>(sizes.padded), elements = rows * rows;
    const auto memory = [&](double blocks) {
        return model.memory_cycles(blocks * elements * static_cast<double>(sizes.real)) / model("share_of_bytes");
    };
    const auto loads = loads_of(problem);
    LevelLoad wide, above;
    for (std::size_t k = 0; k < loads.size(); ++k) {
        auto& part = static_cast<std::int64_t>(k) < sizes.wide_levels ? wide : above;
        part.fronts += loads[k].fronts;
        part.thirds += loads[k].thirds / full_front_thirds;
    }
    const auto slots = [&](std::int64_t blocks) { return model.multiprocessors() * static_cast<double>(blocks); };
    const auto levels = static_cast<double>(loads.size()), wide_levels = static_cast<double>(sizes.wide_levels);
    auto cycles = model("launch");
    if (sizes.wide_levels > 0) {
        const auto work = wide.fronts * model("wide_front") + wide.thirds * model("wide_row") * rows;
        cycles += together(
            2, {wide_levels * model("wide_level"), work / slots(wide_blocks(problem, sizes)), memory(factored_blocks * wide.fronts)});
    }
    const auto work = above.fronts * model("front") + above.thirds * model.precise("element") * elements;
    cycles += together(2, {(levels - wide_levels) * (model("level") + model.precise("level_element") * elements),
                           work / slots(fronts_together(problem, sizes, sizes.factor_shared))});
    if (modelled_operation(problem) == Operation::factor) return model.seconds(cycles);
    const auto fronts = wide.fronts + above.fronts;
    const auto swept = fronts * (model("sweep_front") + model("sweep_row") * rows) / slots(sweep_blocks(problem, sizes));
    // If a thread block has several panels, they follow one another through the levels.
    const auto panels = static_cast<double>(panels_of(problem, sizes)), turns = std::ceil(panels / static_cast<double>(sizes.sharers));
    const auto sweep = model("sweep_launch") + together(2, {(levels + turns - 1) * (model("sweep_level") + model("sweep_level_row") * rows),
                                                            panels * swept, memory(swept_blocks * fronts)});
    const bool rides = problem.spec.rhs <= sizes.riders && sizes.rides;
    return model.seconds(cycles + (rides ? 1 + model("riding") : 2) * sweep);
}

/// Larger blocks: a level takes as long as its costliest front, or as all its fronts, one after another on each multiprocessor; a level of
/// a sweep likewise.
double large_seconds(const Problem& problem, const DataflowSizes& sizes, const KnownDevice& device) {
    const Model common(device, dataflow_variant.name, problem), model(device, "dataflow.large", problem);
    const auto rows = static_cast<double>(sizes.padded), elements = rows * rows;
    const auto memory = [&](double blocks) {
        return model.memory_cycles(blocks * elements * static_cast<double>(sizes.real)) / common("share_of_bytes");
    };
    const auto slots = [&](std::int64_t blocks) { return model.multiprocessors() * static_cast<double>(blocks); };
    double slower = 1;
    if (sizes.padded > largest_wide) slower *= model("high");
    if (!sizes.in_registers) slower *= model("stacked");
    if (!dataflow_shared::inverses_apart(sizes.padded, sizes.real)) slower *= model("tight");
    const auto front = slower * model("front"), products = slower * model.precise("element") * elements;
    // Fronts of short systems wait for each other, and no front of another system has their place meanwhile.
    const auto waiting = [&](double places) {
        return problem.spec.batch == 1 ? 1 : 1 + std::min(1.0, places / static_cast<double>(problem.spec.horizon));
    };
    const auto together_fronts = fronts_together(problem, sizes, sizes.factor_shared);
    const auto taken = (together_fronts > 1 ? model("beside") : 1) * waiting(slots(together_fronts)) / model.multiprocessors();
    const auto panels = static_cast<double>(panels_of(problem, sizes)), turns = std::ceil(panels / static_cast<double>(sizes.sharers));
    const auto sweep_level = model.precise("sweep_row") * rows;
    const auto sweep_front = panels * (model("sweep_front") + model("sweep_front_row") * rows) / slots(sweep_blocks(problem, sizes));
    auto cycles = common("launch"), sweep = model("sweep_launch") + (turns - 1) * sweep_level;
    LevelLoad wide;
    const auto loads = loads_of(problem);
    for (std::size_t k = 0; k < loads.size(); ++k) {
        const auto fronts = loads[k].fronts, full = loads[k].thirds / full_front_thirds;
        sweep += together(3, {sweep_level, fronts * sweep_front, memory(swept_blocks * fronts)});
        if (static_cast<std::int64_t>(k) < sizes.wide_levels) {
            wide.fronts += fronts;
            wide.thirds += full;
        } else {
            const auto costliest = loads[k].longest_thirds / full_front_thirds;
            cycles += together(3, {front + products * costliest, taken * (fronts * front + full * products)});
        }
    }
    if (sizes.wide_levels > 0) {
        const auto work = wide.fronts * model("wide_front") + wide.thirds * model("wide_element") * elements;
        const auto places = slots(wide_blocks(problem, sizes));
        cycles += together(2, {static_cast<double>(sizes.wide_levels) * model("wide_level"), work / places * waiting(places),
                               memory(factored_blocks * wide.fronts)});
    }
    if (modelled_operation(problem) == Operation::factor) return model.seconds(cycles);
    const bool rides = problem.spec.rhs <= sizes.riders && sizes.rides;
    return model.seconds(cycles + (rides ? 1 + common("riding") : 2) * sweep);
}

double seconds(const Problem& problem, const KnownDevice& device) {
    const auto sizes = sizes_of(problem);
    return (sizes.padded <= largest_with_messages ? small_seconds : large_seconds)(problem, sizes, device);
}

std::vector<Constant> constants(const Design& design) {
    const auto problem = problem_of(design);
    const auto sizes = sizes_of(problem);
    const auto& device = device_of(design.target);
    auto of = quantities_of(problem, sizes);
    of["sweep_is_full"] = static_cast<double>(take(problem, "sweep_is_full", of));
    const bool tensor = device.has("fast_tensor") && (design.spec.precision == Precision::f64 || sizes.in_registers);
    auto result = common_constants(design, sizes, {.tensor = tensor, .overlaps = overlaps(design, sizes)});
    const auto fronts = fronts_together(problem, sizes, sizes.factor_shared);
    result.insert(result.end(), {constant("RIDERS", sizes.riders),
                                 constant("LOWER_LEADING", sizes.lower_leading),
                                 constant("STACKED_LEADING", sizes.stacked_leading),
                                 constant("FRONT_ROOM", sizes.front_room),
                                 constant("STACK_IN_REGISTERS", sizes.in_registers),
                                 constant("MULTIPROCESSORS", multiprocessors(design.target)),
                                 constant("MESSAGE_LEVEL", sizes.message_level),
                                 constant("HAS_MESSAGES", static_cast<int>(sizes.message_fronts > 0)),
                                 constant("MESSAGE_FRONTS", sizes.message_fronts),
                                 constant("SHARED_FACTOR", sizes.factor_shared),
                                 constant("FACTOR_BLOCKS", fronts),
                                 constant("FACTOR_FORWARD_BLOCKS", fronts),
                                 constant("SWEEP_COLUMNS", sizes.columns),
                                 constant("SWEEP_SHARERS", sizes.sharers),
                                 constant("SWEEP_REREADS", take(problem, "sweep_rereads", of)),
                                 constant("LONG_INVERSE", std::min(sizes.padded, take(problem, "long_inverse", of))),
                                 constant("SHORT_INVERSE", std::min(sizes.padded, take(problem, "short_inverse", of))),
                                 constant("WAITING_FRONTS", take(problem, "waiting_fronts", of)),
                                 constant("SHARED_SWEEP", sizes.sweep_shared),
                                 constant("SWEEP_BLOCKS", sweep_blocks(problem, sizes)),
                                 constant("WIDE_LEVELS", sizes.wide_levels)});
    const auto wide = sizes.wide_levels > 0 ? wide_fronts(design.spec, sizes) : 1;
    const auto add_reciprocal = [&](const char* name, std::int64_t count) {
        result.emplace_back(name, fmt::format("{}ULL", reciprocal_of(count)));
    };
    add_reciprocal("WIDE_RECIPROCAL", wide);
    add_reciprocal("ABOVE_RECIPROCAL", sizes.wide_levels > 0 ? design.spec.horizon - wide : 1);
    if (sizes.wide_levels > 0)
        result.insert(result.end(),
                      {constant("SHARED_WIDE", sizes.wide_shared), constant("BAND_THREADS", wide_threads(sizes)),
                       constant("FRONT_THREADS", wide_threads(sizes)), constant("BAND_TEAMS", 1),
                       constant("WIDE_BLOCKS", wide_blocks(problem, sizes)), constant("BAND_REREADS", take(problem, "wide_rereads", of)),
                       constant("BAND_DOUBLES", 1), constant("WIDE_SHARES_FRONT", take(problem, "wide_shares_front", of)),
                       constant("WIDE_DIAGONAL_FIRST", take(problem, "wide_diagonal_first", of))});
    return result;
}

constexpr Knob knobs[] = {
    bake,
    {"front_registers", "registers that a thread keeps while it factors", {128, 168, 255}},
    {"rides", "whether the forward sweep of right-hand sides goes with the factorization", {0, 1}},
    {"is_long", "whether fronts are too many for the device at once, so that work binds and not latency", {0, 1}},
    {"crowds", "whether no more fronts share a multiprocessor than keep their registers", {0, 1}},
    {"message_fronts", "fronts of a level, at most, that send panels as messages", {0, 128, 256, 512, 1024}},
    {"wide_least_fronts", "fronts of a level, at least, for it to be in the launch of wide levels", {64, 128, 256, 512, 1024, 2048}},
    {"wide_registers", "registers of a thread in that launch", {128, 168, 255}},
    {"wide_rereads", "whether it computes a thread's number again at each use", {0, 1}},
    {"wide_shares_front", "whether warps of a wide front share its columns in shared memory", {0, 1}},
    {"wide_diagonal_first", "whether it factors the next diagonal tile before the rest of an update", {0, 1}},
    {"sweep_registers", "registers of a thread that sweeps", {56, 64, 72, 80, 96, 128}},
    {"sweep_columns", "right-hand sides of a panel, at most", {1, 2, 4, 8}},
    {"sweep_rereads", "whether sweeps compute a thread's number again at each use", {0, 1}},
    {"sweep_is_full", "whether sweeps have more fronts than the device holds", {0, 1}},
    {"waiting_fronts", "fronts of a level, at most, that make long inverses while they wait", {0, 256, 512, 1024, 2048, 4096}}};

}  // namespace

constinit const Variant dataflow_variant{.name = "dataflow",
                                         .abilities = {.any_schedule = false,
                                                       .rings = true,
                                                       .views = true,
                                                       .signs = true,
                                                       .ring_inverse = false,
                                                       .largest_block = largest_block,
                                                       .max_columns = max_columns},
                                         .refuses = refuses,
                                         .seconds = seconds,
                                         .lower = lower,
                                         .memory = memory,
                                         .steps = steps,
                                         .constants = constants,
                                         .knobs = knobs};

}  // namespace trifold::gpu
