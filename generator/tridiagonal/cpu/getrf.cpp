/// Variant "getrf" of CPUs: general matrices, with rows interchanged within each block. Vectors hold one column of several members, or
/// columns of one member; one text serves both.
#include <algorithm>
#include <bit>
#include <trifold/error.hpp>

#include "generator/tridiagonal/cpu/vectors.hpp"
#include "generator/tridiagonal/design.hpp"
#include "generator/tridiagonal/operands.hpp"

namespace trifold::cpu {
namespace {

constexpr std::int64_t max_columns = 64;  // more in one call would leave the caches

std::int64_t widest(const Problem& problem) { return vector_bytes(problem.target) / element_bytes(problem.spec.precision); }

/// Whether lanes are members.
bool in_lanes(const Problem& problem) {
    const auto quantities = quantities_of(problem) + Quantities{{"filled_lanes", filled_lanes(problem)}};
    return widest(problem) > 1 && take(problem, "in_lanes", quantities) != 0;
}
/// Elements of a vector. Columns of one member are a power of two, at most.
std::int64_t lanes_of(const Problem& problem) {
    const auto block = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(problem.spec.block)));
    if (in_lanes(problem)) return widest(problem);
    return std::min({widest(problem), block, take(problem, "most_lanes", quantities_of(problem))});
}
/// Elements that a row takes of each member.
std::int64_t row_of(const Problem& problem) {
    return in_lanes(problem) ? problem.spec.block : round_up(problem.spec.block, lanes_of(problem));
}

Lowered lower(const Problem& problem) {
    const auto& spec = problem.spec;
    const bool members_in_lanes = in_lanes(problem);
    const auto lanes = lanes_of(problem), row = row_of(problem), area = checked_multiply(spec.block, row, "a block"),
               columns = members_in_lanes ? spec.rhs : round_up(spec.rhs, lanes);
    const auto factor = (members_in_lanes ? 1 : 2) * area + row, rhs = checked_multiply(spec.block, columns, "right-hand sides of a block");
    const auto scratch = checked_multiply(2 * (factor + 5 * area) + 4 * rhs, members_in_lanes ? lanes : 1, "scratch of a worker");
    Lowered result{{},
                   {factor, 2 * area, area + row, 2 * area, rhs},
                   round_up(checked_multiply(scratch, element_bytes(spec.precision), "scratch of a worker"), workspace_alignment),
                   members_in_lanes ? round_up(spec.batch, lanes) : spec.batch};
    for (const auto phase : phases) result.shapes[phase].members_per_task = members_in_lanes ? lanes : 1;
    result.shapes[Phase::finish_factor] = {};
    result.phases = usual_phases(spec, getrf_variant.abilities);
    return result;
}

std::vector<Constant> constants(const Design& design) {
    const auto problem = problem_of(design);
    std::vector<Constant> result{constant("LANES", lanes_of(problem)),
                                 constant("LEADING", row_of(problem)),
                                 constant("INTERLEAVE", in_lanes(problem) ? lanes_of(problem) : 1),
                                 constant("CHAIN_RECORDS", 0),
                                 constant("PANEL_COLUMNS", panel_columns(design.spec.rhs, max_columns)),
                                 constant("ACROSS", vector_registers(problem.target) / 8)};
    add_shuffles(result, lanes_of(problem), design.spec.block);
    return result;
}

constexpr const char* options[] = {"-O3"};

constexpr Knob knobs[] = {bake,
                          {"in_lanes", "whether the lanes of a vector are members, and not columns of one", {0, 1}},
                          {"most_lanes", "columns of one member that a vector has, at most", {1, 2, 4, 8, 16}}};

}  // namespace

constinit const Variant getrf_variant{
    .name = "getrf",
    .abilities = {.rings = true, .definite = false, .general = true, .inverse = false, .max_columns = max_columns},
    .seconds = worker_seconds,
    .lower = lower,
    .constants = constants,
    .knobs = knobs,
    .options = options};

}  // namespace trifold::cpu
