/// Variant "tile-dataflow": blocks of several square tiles, all levels of any schedule in one launch, a task a tile.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <trifold/error.hpp>

#include "generator/program/require.hpp"
#include "generator/tridiagonal/design.hpp"
#include "generator/tridiagonal/gpu/model.hpp"

namespace trifold::gpu::tiles_shared {
#include "templates/gpu/tridiagonal/tiles/shared.h"
}

namespace trifold::gpu {
namespace {

constexpr std::int64_t max_groups = 1024;  // enough to fill any device; those that find no task end at once
constexpr std::int64_t sweep_threads = 256;

/// Edges of tiles. Shared memory holds a diagonal tile and an identity. In double precision a large tile needs more than AMD's devices
/// have.
constexpr std::int64_t large_tile = 64, small_tile = 32;

/// Whether others eliminate the blocks that are left: it is a part of a chain over ranks, as are paths whose first level has no chains.
bool is_part(const Schedule& schedule) {
    return std::ranges::any_of(schedule.levels, [](const Level& level) { return level.runs.empty(); });
}
bool leaves(const Schedule& schedule) { return schedule.levels.back().runs.empty(); }

/// The levels that have tasks. Those of blocks that others eliminate come last: a chain for each, which leaves what is subtracted from it.
Schedule with_tasks(const Schedule& schedule) {
    if (!is_part(schedule)) return schedule;
    auto result = schedule;
    std::erase_if(result.levels, [](const Level& level) { return level.runs.empty(); });
    if (!leaves(schedule)) return result;
    result.levels.push_back(schedule.levels.back());
    result.levels.back().runs = {{0, 1, result.levels.back().size, 1, 1}};
    return result;
}

/// Blocks of the largest panel of a level, without the pivot block. Of two blocks that are left, the lower one has their coupling.
std::int64_t panels(const Level& level, bool is_left) {
    if (is_left) return level.size - 1;
    std::int64_t most = 0;
    for (const auto& run : level.runs)
        for (const auto chain : {std::int64_t{0}, run.count - 1}) {
            const auto first = chain_fronts(level, run, chain).front();
            most = std::max(most, first.behind >= 0 ? 2 : std::int64_t{first.next >= 0});
        }
    return most;
}

/// Chains of one front in a level that has longer ones too. Thread blocks claim the longer ones in order, and these are spread between
/// them.
struct Singles {
    std::int64_t first = 0, count = 0;  ///< numbers of chains
};

Singles singles(const Level& level) {
    std::int64_t first = 0;
    for (const auto& run : level.runs) {
        if (run.length == 1 && level.longest() > 1) return {first, run.count};
        first += run.count;
    }
    return {};
}

/// Tasks of all levels, `each(level)` for each front. Chains count as the longest of their level, but for
/// Singles.
template <class Each>
std::int64_t tasks(const Schedule& schedule, const Spec& spec, const Each& each) {
    std::int64_t sum = 0;
    const auto with = with_tasks(schedule);
    for (const auto& level : with.levels) {
        const auto single = singles(level).count;
        const auto fronts = checked_add(checked_multiply(level.longest(), level.chains() - single, "tiles"), single, "tiles");
        sum = checked_add(sum,
                          checked_multiply(checked_multiply(fronts, spec.batch, "tiles"),
                                           each(level, leaves(schedule) && &level == &with.levels.back()), "tiles"),
                          "tiles");
    }
    return sum;
}

/// Tiles along a block's edge.
std::int64_t per_edge(const Spec& spec, std::int64_t edge) { return (spec.block + edge - 1) / edge; }

std::int64_t factor_tasks(const Schedule& schedule, const Spec& spec, std::int64_t edge) {
    const auto side = per_edge(spec, edge);
    return tasks(schedule, spec,
                 [&](const Level& level, bool is_left) { return side * (side + 1) / 2 + panels(level, is_left) * side * side; });
}

std::int64_t sweep_tasks(const Schedule& schedule, const Spec& spec, std::int64_t edge) {
    return tasks(schedule, spec, [&](const Level&, bool) { return per_edge(spec, edge); });
}

/// TaskLevel of templates/gpu/tridiagonal/tiles/constants.cuh.
struct TaskLevel {
    trifold_level level;
    int longest, panels;
    trifold_int first_single, singles;
};

std::vector<TaskLevel> task_levels(const Schedule& schedule) {
    const auto with = with_tasks(schedule);
    std::vector<TaskLevel> result;
    for (std::size_t k = 0; k < with.levels.size(); ++k) {
        const auto& level = with.levels[k];
        const bool is_left = leaves(schedule) && k + 1 == with.levels.size();
        const auto [first, count] = singles(level);
        result.push_back(
            {kernel_level(with, k), static_cast<int>(level.longest()), static_cast<int>(panels(level, is_left)), first, count});
        if (is_left) result.back().level.next_size = -1;
    }
    return result;
}

/// The levels as they lie in memory.
std::string level_bytes(const Schedule& schedule) {
    std::string bytes;
    for (const auto& level : task_levels(schedule)) bytes.append(reinterpret_cast<const char*>(&level), sizeof level);
    return bytes;
}

/// The levels as initializers.
std::string level_table(const Schedule& schedule) {
    std::string text;
    for (const auto& [level, longest, max_panels, first_single, single] : task_levels(schedule)) {
        std::string runs;
        for (const auto& run : level.run)
            runs +=
                fmt::format("{}{{{}, {}, {}, {}, {}}}", runs.empty() ? "" : ", ", run.first, run.stride, run.count, run.length, run.step);
        text += fmt::format(" \\\n    {{{{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {{{}}}}}, {}, {}, {}, {}}},", level.index, level.base,
                            level.scale, level.size, level.next_base, level.next_scale, level.next_size, level.coupling,
                            level.next_coupling, level.chains, level.runs, runs, longest, max_panels, first_single, single);
    }
    return text;
}

/// Levels that shared memory has room for. Where the text serves every number of blocks, they are rounded up.
std::int64_t level_room(const Problem& problem) {
    constexpr std::int64_t at_least = 16;
    const auto levels = static_cast<std::int64_t>(problem.schedule.levels.size());
    return is_baked(problem, tiles_variant) ? levels : round_up(levels, at_least);
}

/// The sizes with tiles of one edge; Sizes::tile is that edge.
struct TileSizes : Sizes {
    std::int64_t stage_columns = 0, stages = 0;  ///< columns of operands that come in one copy; copies that are in flight
};

Quantities quantities_of(const Problem& problem, const TileSizes& sizes) {
    return gpu::quantities_of(problem, sizes) + Quantities{{"edge", static_cast<double>(sizes.tile)}};
}

TileSizes sizes_with(const Problem& problem, std::int64_t edge) {
    TileSizes sizes;
    sizes.real = element_bytes(problem.spec.precision);
    sizes.padded = round_up(problem.spec.block, edge);
    sizes.tile = edge;
    sizes.threads = edge / 16 * warp_lanes(problem.target);  // a warp for every 16 rows of a tile
    sizes.sweep_threads = sweep_threads;
    sizes.columns = std::min(problem.spec.rhs, sweep_threads / large_tile);  // a thread for each result
    const auto of = quantities_of(problem, sizes);
    sizes.stage_columns = take(problem, "stage_columns", of);
    sizes.stages = take(problem, "stages", of);
    const auto levels = level_room(problem);
    sizes.factor_shared = tiles_shared::tile_bytes(levels, edge, sizes.stages, sizes.stage_columns, has_signs(problem.spec), sizes.real);
    sizes.sweep_shared = tiles_shared::sweep_bytes(levels, edge, sizes.columns, sweep_threads, sizes.real);
    return sizes;
}

/// In single precision large tiles alone: in a sweep, a thread would have less than a vector of a small tile.
TileSizes sizes_of(const Problem& problem) {
    const auto sizes = sizes_with(problem, large_tile);
    return problem.spec.precision != Precision::f64 || fits(sizes, problem.target) ? sizes : sizes_with(problem, small_tile);
}

std::string refuses(const Problem& problem) {
    const auto sizes = sizes_of(problem);
    if (sizes.stages * sizes.stage_columns < sizes.tile)  // a tile is multiplied from the memory of the stages
        return fmt::format("variant 'tile-dataflow' needs stages times stage_columns of at least {} here, not {} times {}", sizes.tile,
                           sizes.stages, sizes.stage_columns);
    // If one warp copies whole ranges, the inverse of a diagonal tile has the place of both operands.
    if (device_of(problem.target).has("early_launches") && 2 * sizes.stage_columns > sizes.tile)
        return fmt::format("variant 'tile-dataflow' has tiles of {} here, which takes stage_columns of at most {}", sizes.tile,
                           sizes.tile / 2);
    return fits(sizes, problem.target) ? "" : too_large(tiles_variant.name, sizes, problem);
}

/// Whether numbers of tasks fit an int.
bool has_short_numbers(const Problem& problem, std::int64_t edge) {
    constexpr auto most = std::numeric_limits<int>::max();
    return factor_tasks(problem.schedule, problem.spec, edge) < most && sweep_tasks(problem.schedule, problem.spec, edge) < most;
}

/// Flops are counted for whole strips of 16 rows: products leave out the rest of a tile.
constexpr std::int64_t strip = 16;

/// A level takes as long as its longest chain, a column of tiles after another, or as the flops and tasks of all its tiles. A chain at its
/// end that is longer than the others goes on when these are done. Sweeps likewise.
double seconds(const Problem& problem, const KnownDevice& device) {
    const auto sizes = sizes_of(problem);
    const Model model(device, tiles_variant.name, problem);
    const bool solves = modelled_operation(problem) == Operation::factor_solve;
    const auto number = [](std::int64_t value) { return static_cast<double>(value); };
    const auto side = number(per_edge(problem.spec, sizes.tile)), bytes = side * number(sizes.tile * sizes.real);
    const auto rows = number(round_up(problem.spec.block, strip));
    const auto front = side * model("column") + model.precise("row") * number(problem.spec.block);
    const auto swept_front = side * model.precise("sweep_column");
    double cycles = model("launch"), swept = 0;
    for (const auto& load : loads_of(problem)) {
        const double panels = load.has_fill ? 2 : 1;
        const auto tasks = load.fronts * (side * (side + 1) / 2 + panels * side * side);
        const auto work = together(1.5, {load.thirds / 3 * rows * rows * rows * model.precise("flop"), tasks * model.precise("task")});
        const auto fronts = load.longest - load.tail, after = model("tail") * load.tail;
        cycles += together(2, {fronts * front, work / model.multiprocessors()}) + after * front;
        const auto sweep_work = load.fronts * side * (model.precise("sweep_task") + model.precise("sweep_byte") * (1 + panels) * bytes);
        swept += together(2, {model("sweep_level") + fronts * swept_front, sweep_work / model.multiprocessors()}) + after * swept_front;
    }
    if (solves) cycles += 2 * passes(problem, sizes) * swept + (is_baked(problem, tiles_variant) ? 0 : model("sweep_launch"));
    return model.seconds(cycles);
}

Quantities quantities(const Problem& problem) { return {{"edge", static_cast<double>(sizes_of(problem).tile)}}; }

/// The last levels whose sums are those of ranks.
std::int64_t rank_levels(const Problem& problem) { return take(problem, "rank_levels", quantities_of(problem, sizes_of(problem))); }

/// The first of these levels, of those that have tasks; where there is none, one that no block has.
std::int64_t apart_from(const Problem& problem) {
    const auto levels = static_cast<std::int64_t>(with_tasks(problem.schedule).levels.size()) - (leaves(problem.schedule) ? 1 : 0);
    const auto apart = rank_levels(problem);
    return apart == 0 ? level_room(problem) : std::max<std::int64_t>(levels - apart, 0);
}

/// Products of tiles in single precision by instructions of half precision.
bool has_halves(const Problem& problem) {
    // Rows are scaled by their blocks' diagonals, which a rank has not got of its neighbour's block, and which bound no row of an
    // indefinite matrix's factor.
    return !has_signs(problem.spec) && problem.target.backend == Backend::cuda && problem.spec.precision == Precision::f32 &&
           !is_part(problem.schedule) && rank_levels(problem) == 0 && device_of(problem.target).has("fast_tensor");
}

/// Panels of a block that are also kept as pairs of halves.
std::int64_t half_panels(const Problem& problem) {
    if (!has_halves(problem)) return 0;
    return has_fill(problem.schedule) ? 3 : 2;
}

/// Each source of a tile needs a thread that finds it, and a level has two sources. In sweeps a thread has one result, and whole vectors of
/// some columns.
void require_tiles(const Problem& problem, const TileSizes& sizes) {
    const auto edge = sizes.tile, levels = level_room(problem), vector = 16 / sizes.real;
    require(2 * levels <= sizes.threads, "{} levels have more sources than {} threads find", levels, sizes.threads);
    require(sizes.padded % edge == 0 && sizes.columns >= 1 && sizes.columns * edge <= sizes.sweep_threads,
            "{} threads sweep over {} columns of tiles of {}", sizes.sweep_threads, sizes.columns, edge);
    const auto row_groups = edge / vector, columns = edge * row_groups / sizes.sweep_threads;
    require(row_groups <= warp_lanes(problem.target) && columns >= 1 && columns % vector == 0,
            "{} threads have {} columns each of tiles of {}", sizes.sweep_threads, columns, edge);
}

Lowered lower(const Problem& problem) {
    const auto& [spec, target, schedule, workers, knobs] = problem;
    const auto sizes = sizes_of(problem);
    require_tiles(problem, sizes);
    auto result = lower_common(problem, sizes, members_per_group(spec));
    result.phases = phases_of(problem, sizes, tiles_variant.abilities);
    for (const auto phase : {Phase::factor, Phase::forward, Phase::backward}) {
        auto& shape = result.shapes.at(phase);
        shape.all_levels = true;
        shape.groups = std::min(phase == Phase::factor ? factor_tasks(schedule, spec, sizes.tile) : sweep_tasks(schedule, spec, sizes.tile),
                                max_groups);
        shape.members_per_task = spec.batch;
    }
    return result;
}

MemoryPlan memory(const Design& design) {
    const auto problem = problem_of(design);
    const auto sizes = sizes_of(problem);
    const auto blocks = blocks_of(design), side = per_edge(design.spec, sizes.tile);
    MemoryPlan plan;
    add_results(plan, design);
    add_factors(plan, design);
    plan.add("halves", blocks, half_panels(problem) * design.lowered.storage.factor, sizes.real);
    // Two words for each stage of a tile's columns.
    plan.add("signs", has_signs(design.spec) ? blocks * side : 0, 2 * sizes.tile / sizes.stage_columns, sizeof(trifold_int));
    // Fronts pull what updates them. Only what comes from another rank has a place of its own.
    const auto members = is_part(design.schedule) ? design.lowered.members : 0;
    add_updates(plan, design,
                checked_add(checked_multiply(2, blocks, "right-hand sides of the batch"), tiles_shared::passed_vectors * members,
                            "right-hand sides"),
                tiles_shared::passed_blocks * members);
    add_verdicts(plan, design, side);
    // Counts of finished tiles: one for each row of a block's panels, and one for each sweep.
    add_progress(plan, design, 3, 3 * side + 2);
    const auto levels = design.baked ? std::string() : level_bytes(design.schedule);
    plan.add("levels", static_cast<std::int64_t>(levels.size()), 1, 1);
    plan.buffers.back().contents = levels;
    return plan;
}

std::vector<Constant> constants(const Design& design) {
    const auto problem = problem_of(design);
    const auto& [spec, target, schedule, workers, knobs] = problem;
    const auto sizes = sizes_of(problem);
    const auto of = quantities_of(problem, sizes);
    const auto edge = sizes.tile, side = per_edge(spec, edge);
    const bool tensor = device_of(target).has("fast_tensor") && (spec.precision == Precision::f64 || has_halves(problem));
    auto result = common_constants(design, sizes, {.in_tiles = true, .tensor = tensor, .log_parts = side});
    const auto factor_blocks =
        std::clamp<std::int64_t>(shared_limit(target) / (sizes.factor_shared + kib), 1, take(problem, "tile_blocks", of));
    const auto sweep_registers = take(problem, "tile_sweep_registers", of);
    const auto line = 3 * side * element_bytes(spec.precision);
    result.insert(
        result.end(),
        {constant("HALF_PANELS", half_panels(problem)), constant("SHARED_FACTOR", sizes.factor_shared),
         constant("SHARED_SWEEP", sizes.sweep_shared), constant("SWEEP_COLUMNS", sizes.columns), constant("FACTOR_BLOCKS", factor_blocks),
         constant("SWEEP_BLOCKS", blocks_for(target, sweep_threads, sweep_registers)), constant("LEVELS", level_room(problem)),
         constant("LEAVES", is_part(problem.schedule)), constant("APART_FROM", apart_from(problem)),
         constant("SHORT_NUMBERS", has_short_numbers(problem, edge)), constant("TASKS", factor_tasks(schedule, spec, edge)),
         constant("TASK_BLOCKS", design.lowered.shapes.at(Phase::factor).groups),
         constant("SWEEP_TASKS", sweep_tasks(schedule, spec, edge)),
         constant("SWEEP_TASK_BLOCKS", design.lowered.shapes.at(Phase::forward).groups), constant("SWEEP_THREADS", sweep_threads),
         constant("GROUP_LINES", std::max<std::int64_t>(take(problem, "group_bytes", of) / line, 4)),
         constant("STAGE_COLUMNS", sizes.stage_columns), constant("STAGES", sizes.stages)});
    if (design.baked) result.push_back({"TASK_LEVELS", level_table(schedule)});
    return result;
}

constexpr Knob knobs[] = {bake,
                          {"stage_columns", "columns of operands that come in one copy", {16, 32}},
                          {"stages", "copies that are on their way", {1, 2, 3, 4, 6, 8}},
                          {"rank_levels", "last levels whose sums are those of twice as many ranks each", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
                          {"tile_blocks", "thread blocks that share a multiprocessor while they factor", {1, 2, 3, 4}},
                          {"tile_sweep_registers", "registers of a thread that sweeps", {64, 80, 96, 128, 168}}};

}  // namespace

constinit const Variant tiles_variant{.name = "tile-dataflow",
                                      .folder = "tiles",
                                      .abilities = {.rings = true, .views = true, .signs = true, .rides = false},
                                      .refuses = refuses,
                                      .seconds = seconds,
                                      .quantities = quantities,
                                      .lower = lower,
                                      .memory = memory,
                                      .constants = constants,
                                      .knobs = knobs};

}  // namespace trifold::gpu
