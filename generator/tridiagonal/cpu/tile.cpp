/// Variant "tile" of CPUs: one member and one chain a task, each block a set of register tiles.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <trifold/error.hpp>

#include "generator/tridiagonal/cpu/vectors.hpp"
#include "generator/tridiagonal/design.hpp"
#include "generator/tridiagonal/operands.hpp"

namespace trifold::cpu {
namespace {

/// Quantities of vectors and columns that rows ask about.
Quantities vector_quantities(const Problem& problem) {
    const auto& [spec, target, schedule, workers, knobs] = problem;
    const auto widest = vector_bytes(target) / element_bytes(spec.precision), half = std::max<std::int64_t>(widest / 2, 1);
    return quantities_of(problem) + Quantities{{"vector_bytes", static_cast<double>(vector_bytes(target))},
                                               {"halved", static_cast<double>(device_of(target).has("halved"))},
                                               {"whole_vectors", static_cast<double>(spec.block / widest)},
                                               {"last_halves", static_cast<double>((spec.block % widest + half - 1) / half)}};
}

std::int64_t take(const Problem& problem, std::string_view list) { return trifold::take(problem, list, vector_quantities(problem)); }

/// Elements of one vector: a whole register, half of a wide one, or less when a smaller power of two already holds a column.
std::int64_t lanes_of(const Problem& problem) {
    const auto widest = vector_bytes(problem.target) / element_bytes(problem.spec.precision);
    const auto most = take(problem, "halves") != 0 ? widest / 2 : widest;
    return std::min(most, static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(problem.spec.block))));
}

std::int64_t leading(const Problem& problem) { return round_up(problem.spec.block, lanes_of(problem)); }

/// Columns of a register tile: with three vectors of rows a column, the accumulators, the rows and a multiplier fill the registers.
std::int64_t tile_width(const Problem& problem) { return std::min<std::int64_t>(lanes_of(problem), vector_registers(problem.target) / 4); }

/// Whether the processor carries out a vector in two halves. Tiles on the diagonal can then leave halves out.
bool halves(const Problem& problem) {
    const auto lanes = lanes_of(problem);
    return device_of(problem.target).has("halved") && lanes * element_bytes(problem.spec.precision) == vector_bytes(problem.target) &&
           tile_width(problem) == lanes;
}

/// Cache lines that are fetched for the next front after each `columns` columns of a tile's products: `lines` that it will read, and as
/// many that it will write.
struct Fetch {
    std::int64_t lines, columns;
};

/// Spreads the 3/2 n^2 reals that the next front reads over the products of this one. Fetches nothing where all blocks fit in a
/// second-level cache.
Fetch fetch(const Problem& problem) {
    const auto& [spec, target, schedule, workers, knobs] = problem;
    const auto& device = device_of(target);
    const auto number = [&](const char* name) { return device.number(fmt::format("models.fetch.{}", name)); };
    const auto n = static_cast<double>(spec.block), bytes = static_cast<double>(element_bytes(spec.precision));
    const auto blocks = static_cast<double>(spec.horizon) * static_cast<double>(spec.batch), columns = number("columns");
    const auto step = std::lround(columns);
    if (spec.block < take(problem, "fetches_from") || 3 * n * n * bytes * blocks < number("cached_bytes")) return {0, step};
    const auto tile = static_cast<double>(3 * lanes_of(problem) * tile_width(problem));
    const auto lines = 1.5 * n * n * bytes / device.number("facts.cache_line"), steps = 7.0 / 6 * n * n * n / (tile * columns);
    const auto rate = lines / steps;
    if (rate < number("one_line_from")) return {1, step * std::lround(1 / rate)};
    return {rate < number("two_lines_from") ? 1 : 2, step};
}

constexpr std::int64_t max_columns = 256;  // largest number of columns in a panel
constexpr std::int64_t few_columns = 4;    // largest number of columns that are treated one by one
constexpr std::int64_t max_beside = 2;     // largest number of columns for which kernels have no slices

/// Right-hand sides in a vector. Their rows are as many as a register tile of D has columns, with two vectors each.
std::int64_t panel_lanes(const Problem& problem) {
    return std::min(vector_bytes(problem.target) / element_bytes(problem.spec.precision),
                    panel_columns(problem.spec.rhs, max_columns, problem.workers));
}

Lowered lower(const Problem& problem) {
    const auto& spec = problem.spec;
    const auto n = spec.block, ld = leading(problem);
    const auto columns = panel_columns(spec.rhs, max_columns, problem.workers),
               lanes = vector_bytes(problem.target) / element_bytes(spec.precision);
    const auto few = std::min(spec.rhs, few_columns);
    const auto vector = round_up(std::max(few * ld, checked_multiply(n, spec.rhs, "right-hand sides of a block")), lanes);
    // Three sets of right-hand sides for the sweeps, ten blocks for the selected inverse.
    const auto inverse = spec.operations.contains(Operation::inverse) ? 10 * n * ld : 0;
    const auto scratch = checked_multiply(std::max(3 * vector, inverse), element_bytes(spec.precision), "scratch of a worker");
    Lowered result{{}, {n * ld + ld, n * ld, n * ld, n * ld, vector}, round_up(scratch, workspace_alignment), spec.batch};
    for (const auto phase : phases) result.shapes[phase] = {};
    for (const auto phase : {Phase::forward, Phase::backward}) result.shapes[phase].groups_per_chain = spec.rhs / columns;
    result.phases = usual_phases(spec, tile_variant.abilities, columns <= max_beside);
    return result;
}

std::vector<Constant> constants(const Design& design) {
    const auto problem = problem_of(design);
    const auto [lines, columns] = fetch(problem);
    const bool fill = buffer(design, "behind").bytes > 0;
    std::vector<Constant> result{constant("LANES", lanes_of(problem)),
                                 constant("LEADING", leading(problem)),
                                 constant("INTERLEAVE", 1),
                                 constant("CHAIN_RECORDS", 0),
                                 constant("WIDTH", tile_width(problem)),
                                 constant("HALVES", halves(problem)),
                                 constant("FEW_STRIPS", halves(problem) ? take(problem, "few_strips") : 0),
                                 constant("FETCH_LINES", lines),
                                 constant("FETCH_COLUMNS", columns),
                                 constant("PANEL_COLUMNS", panel_columns(design.spec.rhs, max_columns, design.workers)),
                                 constant("PANEL_LANES", panel_lanes(problem)),
                                 constant("BESIDE", max_beside),
                                 constant("PANEL_ROWS", vector_registers(problem.target) / 4),
                                 constant("FILL", fill),
                                 constant("FRONTS_HAVE_PRODUCTS", fill || has_kernel(design, Phase::inverse))};
    add_shuffles(result, lanes_of(problem), design.spec.block);
    return result;
}

/// Register tiles are vectors already: looking for more of them doubles the time to compile, and the kernels get no faster.
constexpr const char* options[] = {"-O2", "-fno-unroll-loops", "-fno-tree-vectorize", "-fno-tree-slp-vectorize"};

constexpr Knob knobs[] = {bake,
                          {"halves", "whether vectors are half as long as registers", {0, 1}},
                          {"few_strips", "strips of a block, at most, for it to be treated strip by strip", {0, 1, 2, 3, 4, 5, 6, 8}},
                          {"fetches_from", "the least block whose fronts fetch for the next one", {1, 16, 24, 25, 32, 48, 64, 96, 1024}}};

}  // namespace

constinit const Variant tile_variant{
    .name = "tile",
    .abilities = {.rings = true, .lengths = true, .views = true, .signs = true, .max_columns = max_columns, .shares_columns = true},
    .seconds = worker_seconds,
    .lower = lower,
    .constants = constants,
    .knobs = knobs,
    .options = options};

}  // namespace trifold::cpu
