/// Variant "chains": a thread block has a chain, whose running block stays on chip; for schedules without fill.
#include <fmt/format.h>

#include <algorithm>

#include "generator/program/require.hpp"
#include "generator/tridiagonal/design.hpp"
#include "generator/tridiagonal/gpu/model.hpp"

namespace trifold::gpu::chains_shared {
#include "templates/gpu/tridiagonal/chains/shared.h"
}

namespace trifold::gpu {
namespace {

struct ChainSizes : Sizes {
    std::int64_t lower_leading = 0;  ///< elements between columns of D and of R in shared memory
    std::int64_t ring = 2;           ///< blocks of a sweep that are in flight or in shared memory
    std::int64_t band_threads = 32;  ///< threads that have bands of 16 rows
    std::int64_t teams = 1;          ///< teams of as many warps, which take alternate fronts
    bool copier = false;             ///< one more warp has the copies of a sweep
    bool helper = false;             ///< one more warp has right-hand sides and reports
};

/// Smaller blocks are for teams of lanes; larger ones leave a lane too few registers for its part of R.
constexpr std::int64_t smallest_block = 17, largest_block = 96;
/// Larger blocks have a warp for each band of 16 rows.
constexpr std::int64_t largest_of_warp = 32;

/// chains: of a level, of all systems.
Quantities quantities_of(const Problem& problem, const ChainSizes& sizes) {
    const auto chains = problem.spec.batch * problem.schedule.levels.front().chains();
    return gpu::quantities_of(problem, sizes) + Quantities{{"chains", static_cast<double>(chains)}};
}

ChainSizes sizes_of(const Problem& problem) {
    const auto& spec = problem.spec;
    ChainSizes sizes;
    sizes.real = element_bytes(spec.precision);
    sizes.padded = round_up(spec.block, 8);
    sizes.tile = 8;
    const auto lanes = warp_lanes(problem.target);
    const auto bands = (sizes.padded + 15) / 16;
    sizes.copier = take(problem, "chain_copier", quantities_of(problem, sizes)) != 0;
    sizes.sweep_threads = sizes.copier ? 2 * lanes : lanes;
    sizes.columns = std::min<std::int64_t>(spec.rhs, 4);
    sizes.teams = take(problem, "chain_teams", quantities_of(problem, sizes));
    const bool shares = sizes.teams == 1 && sizes.padded <= largest_of_warp;
    const auto of_warp = shares ? std::min(bands, take(problem, "chain_bands", quantities_of(problem, sizes))) : 1;
    sizes.band_threads = bands / of_warp * lanes;
    sizes.helper = sizes.teams == 1 && take(problem, "chain_helper", quantities_of(problem, sizes)) != 0;
    sizes.threads = sizes.teams * sizes.band_threads + (sizes.helper ? lanes : 0);
    sizes.lower_leading = conflict_free(sizes.padded);
    sizes.factor_shared =
        sizes.teams * chains_shared::chain_bytes(sizes.padded, sizes.lower_leading, sizes.columns, has_signs(problem.spec), sizes.real);
    sizes.ring = take(problem, "chain_ring", quantities_of(problem, sizes));
    sizes.sweep_shared = chains_shared::sweep_bytes(sizes.padded, sizes.columns, sizes.ring, sizes.real);
    return sizes;
}

std::string refuses(const Problem& problem) {
    if (problem.spec.block < smallest_block)
        return fmt::format("variant 'chains' is for blocks from {} on, not for n = {}; give auto", smallest_block, problem.spec.block);
    if (!device_of(problem.target).has("deep_tensor"))
        return fmt::format(
            "variant 'chains' needs tensor instructions of double precision that are eight deep, which {} has not; give auto",
            to_string(problem.target));
    if (has_fill(problem.schedule))
        return fmt::format("variant 'chains' is for the schedules sequential and twisted:2, not for {}; give auto", problem.schedule.name);
    const auto sizes = sizes_of(problem);
    return fits(sizes, problem.target) ? "" : too_large(chains_variant.name, sizes, problem);
}

/// Without fill, all but the last of the levels have chains to one separator.
Lowered lower(const Problem& problem) {
    require(problem.schedule.levels.size() <= 2 && !has_fill(problem.schedule), "schedule {} has fill", problem.schedule.name);
    const auto sizes = sizes_of(problem);
    auto result = lower_common(problem, sizes, members_per_group(problem.spec));
    result.phases = phases_of(problem, sizes, chains_variant.abilities, problem.spec.rhs <= sizes.columns);
    result.shapes.at(Phase::factor_forward).shared_bytes = sizes.factor_shared;
    return result;
}

/// Sums of a chain stand at one of its blocks. Those of the others are zero, and stay so.
MemoryPlan memory(const Design& design) {
    auto plan = plain_memory(design);
    for (auto& buffer : plan.buffers)
        if (buffer.name == "block_log_determinant" || buffer.name == "block_quadratic") buffer.zeroed = true;
    return plan;
}

/// Thread blocks of a multiprocessor: as many as shared memory has room for, and registers.
std::int64_t blocks(const Problem& problem, std::int64_t threads, std::int64_t shared, std::int64_t registers) {
    return static_cast<std::int64_t>(resident(problem, blocks_for(problem.target, threads, registers), shared));
}
std::int64_t factor_blocks(const Problem& problem, const ChainSizes& sizes) {
    return blocks(problem, sizes.threads, sizes.factor_shared, take(problem, "chain_registers", quantities_of(problem, sizes)));
}
std::int64_t sweep_blocks(const Problem& problem, const ChainSizes& sizes) {
    constexpr std::int64_t registers = 168;  // fewer would spill
    return blocks(problem, sizes.sweep_threads, sizes.sweep_shared, registers);
}

/// Blocks of n by n of a front that pass through the memory: D, E, L and R; in a sweep L and R.
constexpr double factored_blocks = 3.5, swept_blocks = 1.5;

/// How much longer a front takes than one of a block that few warps share: its warps meet for each tile, or one warp has all its bands.
double slowdown(const Model& model, const Problem& problem, const ChainSizes& sizes) {
    const double teams = sizes.teams > 1 ? model.precise("teams") : 1;
    if (sizes.padded > largest_of_warp) return teams * (1 + model.precise("meeting"));
    if (sizes.teams > 1) return teams;
    return sizes.band_threads > warp_lanes(problem.target) ? 1 : 1 + model.precise("single");
}

/// A level takes as long as its longest chain, times the turns that its chains take; or as long as the memory needs for its blocks.
double seconds(const Problem& problem, const KnownDevice& device) {
    const auto sizes = sizes_of(problem);
    const Model model(device, chains_variant.name, problem);
    const auto rows = static_cast<double>(sizes.padded), elements = rows * rows;
    const bool solves = modelled_operation(problem) == Operation::factor_solve;
    const auto memory = [&](double blocks) {
        return model.memory_cycles(blocks * elements * static_cast<double>(sizes.real)) / model("share_of_bytes");
    };
    const auto slots = [&](std::int64_t blocks) { return model.multiprocessors() * static_cast<double>(blocks); };
    const auto front =
        slowdown(model, problem, sizes) * (model("front") + model.precise("row") * rows + model.precise("element") * elements);
    const auto sweep = (sizes.copier ? model("copier") : 1) * (model("sweep") + model("sweep_row") * rows);
    const bool rides = problem.spec.rhs <= sizes.columns;
    double cycles = model("verdict");
    for (const auto& load : loads_of(problem)) {
        const auto turns = std::ceil(load.chains / slots(factor_blocks(problem, sizes)));
        cycles += model("level") + together(3, {(load.longest + model("start")) * front * turns, memory(factored_blocks * load.fronts)});
        if (!solves) continue;
        const auto swept_turns = std::ceil(load.chains / slots(sweep_blocks(problem, sizes)));
        const auto swept = together(3, {load.longest * sweep * swept_turns, memory(swept_blocks * load.fronts)});
        cycles += model("sweep_level") + (rides ? 1 : 2) * passes(problem, sizes) * swept + load.longest * model("riding_row") * rows;
    }
    return model.seconds(cycles);
}

std::vector<Constant> constants(const Design& design) {
    const auto problem = problem_of(design);
    const auto sizes = sizes_of(problem);
    auto result = common_constants(design, sizes, {.tensor = true});
    result.insert(
        result.end(),
        {constant("LOWER_LEADING", sizes.lower_leading), constant("BAND_THREADS", sizes.band_threads),
         constant("FRONT_THREADS", sizes.threads), constant("BAND_TEAMS", sizes.teams),
         constant("BAND_REREADS", take(problem, "chain_rereads", quantities_of(problem, sizes))),
         constant("BAND_DOUBLES", take(problem, "chain_doubles", quantities_of(problem, sizes))), constant("CHAIN_HELPER", sizes.helper),
         constant("SWEEP_COLUMNS", sizes.columns), constant("SWEEP_RING", sizes.ring), constant("SWEEP_COPIER", sizes.copier),
         constant("SHARED_FACTOR", sizes.factor_shared), constant("SHARED_SWEEP", sizes.sweep_shared),
         constant("FACTOR_BLOCKS", factor_blocks(problem, sizes)), constant("SWEEP_BLOCKS", sweep_blocks(problem, sizes))});
    return result;
}

constexpr Knob knobs[] = {
    bake,
    {"chain_registers", "registers of a thread that factors a chain", {128, 168, 200, 255}},
    {"chain_bands", "bands of 16 rows that a warp has, of blocks up to 32", {1, 2}},
    {"chain_teams", "teams of warps, which take a chain's fronts in turn: one eliminates D, the other follows with R", {1, 2}},
    {"chain_helper", "whether a warp of its own has right-hand sides and reports", {0, 1}},
    {"chain_rereads", "whether a thread's number is computed again at each use", {0, 1}},
    {"chain_doubles", "whether products in single precision are added up in double precision", {0, 1}},
    {"chain_copier", "whether a warp of its own has the copies of a sweep", {0, 1}},
    {"chain_ring", "blocks of a sweep that are on their way or at hand", {2, 3, 4}}};

}  // namespace

constinit const Variant chains_variant{.name = "chains",
                                       .abilities = {.lengths = true, .views = true, .signs = true, .largest_block = largest_block},
                                       .refuses = refuses,
                                       .seconds = seconds,
                                       .lower = lower,
                                       .memory = memory,
                                       .constants = constants,
                                       .knobs = knobs};

}  // namespace trifold::gpu
