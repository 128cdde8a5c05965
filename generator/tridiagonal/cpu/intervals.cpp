/// Variant "intervals" of CPUs: chains of one system in the lanes of vectors, with separators between them. For long horizons of small blocks.
#include <fmt/format.h>

#include <trifold/error.hpp>

#include "generator/tridiagonal/columns.hpp"
#include "generator/tridiagonal/cpu/vectors.hpp"
#include "generator/tridiagonal/launches.hpp"

namespace trifold::cpu {
namespace {

constexpr std::int64_t largest_block = 16;  // the vectors of larger ones leave the first-level cache
constexpr std::int64_t most_columns = 64;   // more in one call would leave the caches

std::int64_t lanes_of(const Spec& spec, const Target& target) { return vector_bytes(target) / element_bytes(spec.precision); }

std::string refuses(const Problem& problem) {
    const auto& schedule = problem.schedule;
    const auto length = schedule.levels.empty() || schedule.levels[0].runs.empty() ? 0 : schedule.levels[0].longest();
    if (length > 0 && schedule.levels == segments(schedule.horizon, {length}).levels) return "";
    return fmt::format("variant 'intervals' is for the schedule segments:J, not for {}; give auto", schedule.name);
}

Quantities quantities(const Problem& problem) {
    const auto chains = problem.schedule.levels[0].chains(), lanes = lanes_of(problem.spec, problem.target);
    return {{"vector_bytes", static_cast<double>(vector_bytes(problem.target))},
            {"filled_lanes", static_cast<double>(chains) / static_cast<double>((chains + lanes - 1) / lanes * lanes)}};
}

Lowered lower(const Problem& problem) {
    const auto& [spec, target, schedule, workers, knobs] = problem;
    const auto n = spec.block, area = n * n;
    const auto rhs = checked_multiply(n, spec.rhs, "right-hand sides of a block");
    const auto vectors = checked_add(3 * area + 2 * n, checked_multiply(6, rhs, "scratch of a worker"), "scratch of a worker");
    const auto scratch = checked_multiply(vectors, vector_bytes(target), "scratch of a worker");
    Lowered result{{}, {area, area, area, area, rhs}, round_up(scratch, workspace_alignment), spec.batch};
    for (const auto phase : phases) result.shapes[phase].chains_per_task = lanes_of(spec, target);
    for (const auto phase : {Phase::finish_factor, Phase::finish_forward}) result.shapes[phase] = {};
    result.phases = usual_phases(spec, intervals_variant.abilities);
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
    plan.add("inverse_coupling", 0, storage.coupling, real);
    plan.add("failure", records, 1, sizeof(trifold_int));
    plan.add("floors", records, 1, sizeof(int));
    plan.add("poison", 0, 1, sizeof(int));
    plan.add("block_log_determinant", records, 1, sizeof(double));
    plan.add("reduction", records, 1, sizeof(double));
    plan.add("block_quadratic", records, design.spec.rhs, sizeof(double));
    return plan;
}

std::vector<Constant> constants(const Design& design) {
    const auto lanes = lanes_of(design.spec, design.target);
    std::vector<Constant> result{constant("LANES", lanes),
                                 constant("LEADING", design.spec.block),
                                 constant("INTERLEAVE", lanes),
                                 constant("PANEL_COLUMNS", panel_columns(design.spec.rhs, most_columns)),
                                 constant("TILE", tile_side(design.spec, design.target)),
                                 constant("FAR", 0)};
    add_shuffles(result, lanes, design.spec.block);
    return result;
}

std::vector<std::string> templates(const Design& design) { return entry_of(design, "intervals"); }

constexpr const char* options[] = {"-O3"};

constexpr Knob knobs[] = {bake};

}  // namespace

constinit const Variant intervals_variant{.name = "intervals",
                                          .abilities = {.inverse = false, .largest_block = largest_block, .most_columns = most_columns},
                                          .refuses = refuses,
                                          .seconds = worker_seconds,
                                          .quantities = quantities,
                                          .lower = lower,
                                          .memory = memory,
                                          .steps = plain_steps,
                                          .constants = constants,
                                          .templates = templates,
                                          .knobs = knobs,
                                          .options = options};

}  // namespace trifold::cpu
