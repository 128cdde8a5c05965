/// Variant "intervals" of CPUs: chains of one system in the lanes of vectors, with separators between them. For long horizons of small
/// blocks.
#include <fmt/format.h>

#include <algorithm>
#include <trifold/error.hpp>

#include "generator/tridiagonal/cpu/vectors.hpp"
#include "generator/tridiagonal/design.hpp"
#include "generator/tridiagonal/operands.hpp"

namespace trifold::cpu {
namespace {

constexpr std::int64_t largest_block = 16;            // the vectors of larger ones leave the first-level cache
constexpr std::int64_t largest_in_line = 8;           // larger fronts take long to compile, and gain nothing
constexpr double flops_of_a_filled_front = 19.0 / 3;  // times n^3
constexpr std::int64_t max_columns = 64;              // more in one call would leave the caches

/// Right-hand sides that the lanes of chains treat at the same time. More are faster in slices.
constexpr std::int64_t few_beside = 2, more_beside = 4, block_with_more_beside = 8;
std::int64_t max_beside(const Spec& spec) { return spec.block < block_with_more_beside ? few_beside : more_beside; }

std::int64_t lanes_of(const Spec& spec, const Target& target) { return vector_bytes(target) / element_bytes(spec.precision); }

std::string refuses(const Problem& problem) {
    const auto& schedule = problem.schedule;
    const auto length = schedule.levels.empty() || schedule.levels[0].runs.empty() ? 0 : schedule.levels[0].longest();
    if (length > 0 && schedule.levels == segments(schedule.horizon, {length}).levels) return "";
    return fmt::format("variant 'intervals' is for the schedule segments:J, not for {}; give auto", schedule.name);
}

/// Workers that one system of the batch has for itself.
std::int64_t own_workers(const Problem& problem) { return std::max<std::int64_t>(1, problem.workers / problem.spec.batch); }

Quantities quantities(const Problem& problem) {
    const auto lanes = lanes_of(problem.spec, problem.target), own = own_workers(problem);
    const auto number = [](auto value) { return static_cast<double>(value); };
    return {{"filled_lanes", filled_lanes(problem)},
            {"chains", number(problem.schedule.levels[0].chains())},
            {"lanes", number(lanes)},
            {"lane_blocks", number(problem.spec.horizon / (lanes * own * own))},
            {"halved", number(device_of(problem.target).has("halved"))}};
}

/// Schedules with as many chains as there are lanes, or some times as many for several workers.
std::vector<Schedule> schedules(const Problem& problem) {
    const auto horizon = problem.spec.horizon;
    std::vector<Schedule> result;
    for (std::int64_t groups = 1; groups <= own_workers(problem); groups *= 2) {
        const auto chains = std::min(groups * lanes_of(problem.spec, problem.target), (horizon + 1) / 2);
        result.push_back(segments(horizon, {(horizon - chains) / chains + 1}));  // the blocks between as many chains, evenly, rounded up
    }
    return result;
}

/// A worker eliminates a vector of fronts at a time. The separators come one after another, and take as long each, since they wait for
/// themselves.
double seconds(const Problem& problem, const KnownDevice& device) {
    const auto& [spec, target, schedule, workers, knobs] = problem;
    const auto number = [&](const char* name) { return device.number(fmt::format("models.{}", name)); };
    const auto lanes = lanes_of(spec, target), groups = (schedule.levels[0].chains() + lanes - 1) / lanes;
    const auto separators = schedule.levels.size() > 1 ? schedule.levels[1].size : 0;
    const auto n = static_cast<double>(spec.block);
    const auto rate =
        number("worker.flops_per_cycle_and_lane") * number("worker.cycles_per_second") * n / (n + number("intervals.half_speed_block"));
    const auto front = flops_of_a_filled_front / rate * n * n * n + number("intervals.front_seconds");
    const auto rounds = [&](std::int64_t tasks) { return static_cast<double>((tasks * spec.batch + workers - 1) / workers); };
    const auto fork = groups * spec.batch > 1 && workers > 1 ? number("worker.fork_seconds") : 0;
    return (rounds(groups) * static_cast<double>(schedule.levels[0].longest()) + rounds(1) * static_cast<double>(separators)) * front +
           2 * number("worker.level_seconds") + fork;
}

Lowered lower(const Problem& problem) {
    const auto& [spec, target, schedule, workers, knobs] = problem;
    const auto n = spec.block, area = n * n;
    const auto rhs = checked_multiply(n, spec.rhs, "right-hand sides of a block");
    constexpr std::int64_t of_factor = 3, of_inverse = 11;
    const auto blocks = spec.operations.contains(Operation::inverse) ? of_inverse : of_factor;
    const auto vectors = checked_add(blocks * area + 2 * n, checked_multiply(6, rhs, "scratch of a worker"), "scratch of a worker");
    const auto scratch = checked_multiply(vectors, vector_bytes(target), "scratch of a worker");
    Lowered result{{}, {area, area, area, area, rhs}, round_up(scratch, workspace_alignment), spec.batch};
    for (const auto phase : phases) result.shapes[phase].chains_per_task = lanes_of(spec, target);
    for (const auto phase : {Phase::finish_factor, Phase::finish_forward}) result.shapes[phase] = {};
    result.phases = usual_phases(spec, intervals_variant.abilities, panel_columns(spec.rhs, max_columns) <= max_beside(spec));
    return result;
}

/// Room for vectors of chains in place of single blocks, and a verdict for each chain.
MemoryPlan memory(const Design& design) {
    const auto& storage = design.lowered.storage;
    const auto& levels = design.schedule.levels;
    const auto members = design.lowered.members, lanes = lanes_of(design.spec, design.target);
    const auto real = std::int64_t{element_bytes(design.spec.precision)};
    const auto chains = levels[0].chains(), separators = levels.size() > 1 ? levels[1].size : 0;
    const auto groups = checked_multiply(members, (chains + lanes - 1) / lanes * lanes, "groups of chains");
    const auto places = checked_add(checked_multiply(groups, levels[0].longest(), "fronts of the batch"),
                                    checked_multiply(members, separators * lanes, "separators of the batch"), "fronts of the batch");
    const auto records = checked_multiply(members, chains + (separators > 0 ? 1 : 0), "chains of the batch");
    MemoryPlan plan;
    add_results(plan, design);
    plan.add("factor", places, storage.factor, real);
    plan.add("next", places, storage.panel, real);
    plan.add("behind", places, storage.panel, real);
    plan.add("update", 2 * groups, storage.update, real);
    plan.add("coupling", groups, storage.coupling, real);
    plan.add("rhs_update", 2 * groups, storage.vector, real);
    plan.add("inverse_coupling", has_kernel(design, Phase::inverse) ? groups : 0, storage.coupling, real);
    plan.add("failure", records, 1, sizeof(trifold_int));
    plan.add("floors", records, 1, sizeof(int));
    plan.add("poison", 0, 1, sizeof(int));
    plan.add("block_log_determinant", records, 1, sizeof(double));
    plan.add("reduction", records, 1, sizeof(double));
    plan.add("block_quadratic", records, design.spec.rhs, sizeof(double));
    return plan;
}

std::vector<Constant> constants(const Design& design) {
    const auto lanes = lanes_of(design.spec, design.target), columns = panel_columns(design.spec.rhs, max_columns);
    std::vector<Constant> result{constant("LANES", lanes),
                                 constant("LEADING", design.spec.block),
                                 constant("INTERLEAVE", lanes),
                                 constant("CHAIN_RECORDS", 1),
                                 constant("IN_LINE", design.spec.block <= largest_in_line),
                                 constant("PANEL_COLUMNS", columns),
                                 constant("PANEL_LANES", std::min(lanes, columns)),
                                 constant("PANEL_ROWS", vector_registers(design.target) / 4),
                                 constant("BESIDE", std::min(columns, max_beside(design.spec))),
                                 constant("TILE", tile_side(design.spec, design.target)),
                                 constant("FAR", 0)};
    add_shuffles(result, lanes, design.spec.block);
    return result;
}

constexpr const char* options[] = {"-O3"};

constexpr Knob knobs[] = {bake};

}  // namespace

constinit const Variant intervals_variant{.name = "intervals",
                                          .abilities = {.largest_block = largest_block, .max_columns = max_columns},
                                          .refuses = refuses,
                                          .seconds = seconds,
                                          .quantities = quantities,
                                          .lower = lower,
                                          .memory = memory,
                                          .constants = constants,
                                          .knobs = knobs,
                                          .options = options,
                                          .schedules = schedules};

}  // namespace trifold::cpu
