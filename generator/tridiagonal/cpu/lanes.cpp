/// Variant "lanes" of CPUs: one member in each lane of a vector, so that every operation of the scalar algorithm is a vector operation. For
/// batches of small blocks.

#include <trifold/error.hpp>

#include "generator/tridiagonal/cpu/vectors.hpp"
#include "generator/tridiagonal/design.hpp"
#include "generator/tridiagonal/operands.hpp"

namespace trifold::cpu {
namespace {

/// With larger blocks the scratch leaves the caches.
constexpr std::int64_t largest_block = 32;
constexpr std::int64_t max_columns = 64;  // more in one call would leave the caches

std::int64_t lanes_of(const Spec& spec, const Target& target) { return vector_bytes(target) / element_bytes(spec.precision); }

/// Whether D, E and the factor of all members leave the caches.
bool is_far(const Problem& problem) {
    const auto& spec = problem.spec;
    const auto block = static_cast<double>(spec.block * spec.block * element_bytes(spec.precision));
    const auto all = 4 * block * static_cast<double>(spec.horizon) * static_cast<double>(spec.batch);
    return take(problem, "is_far", {{"block_bytes", block}, {"all_bytes", all}}) != 0;
}

Quantities quantities(const Problem& problem) {
    return {{"filled_lanes", filled_lanes(problem)},
            {"vector_bytes", static_cast<double>(vector_bytes(problem.target))},
            {"row_bytes", static_cast<double>(problem.spec.block * element_bytes(problem.spec.precision))}};
}

Lowered lower(const Problem& problem) {
    const auto& [spec, target, schedule, workers, knobs] = problem;
    const auto n = spec.block, area = n * n;
    const auto rhs = checked_multiply(n, spec.rhs, "right-hand sides of a block");
    const auto vectors = checked_add(11 * area + 2 * n, checked_multiply(5, rhs, "scratch of a worker"), "scratch of a worker");
    const auto scratch = checked_multiply(vectors, vector_bytes(target), "scratch of a worker");
    Lowered result{{}, {area, area, area, area, rhs}, round_up(scratch, workspace_alignment), round_up(spec.batch, lanes_of(spec, target))};
    for (const auto phase : phases) result.shapes[phase].members_per_task = lanes_of(spec, target);
    for (const auto phase : {Phase::finish_factor, Phase::finish_forward, Phase::lengths, Phase::blank_inverse}) result.shapes[phase] = {};
    result.phases = usual_phases(spec, lanes_variant.abilities);
    return result;
}

std::vector<Constant> constants(const Design& design) {
    const auto lanes = lanes_of(design.spec, design.target);
    const auto columns = panel_columns(design.spec.rhs, max_columns);
    std::vector<Constant> result{constant("LANES", lanes),
                                 constant("LEADING", design.spec.block),
                                 constant("INTERLEAVE", lanes),
                                 constant("CHAIN_RECORDS", 0),
                                 constant("IN_LINE", 0),
                                 constant("PANEL_COLUMNS", columns),
                                 constant("BESIDE", columns),
                                 constant("TILE", tile_side(design.spec, design.target)),
                                 constant("FAR", is_far(problem_of(design)))};
    add_shuffles(result, lanes, design.spec.block);
    return result;
}

constexpr const char* options[] = {"-O3"};

constexpr Knob knobs[] = {bake, {"is_far", "whether blocks come from beyond the caches", {0, 1}}};

}  // namespace

constinit const Variant lanes_variant{.name = "lanes",
                                      .abilities = {.rings = true,
                                                    .lengths = true,
                                                    .views = true,
                                                    .signs = true,
                                                    .clips = false,
                                                    .largest_block = largest_block,
                                                    .max_columns = max_columns},
                                      .seconds = worker_seconds,
                                      .quantities = quantities,
                                      .lower = lower,
                                      .constants = constants,
                                      .knobs = knobs,
                                      .options = options};

}  // namespace trifold::cpu
