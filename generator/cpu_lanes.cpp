#include "generator/cpu_lanes.hpp"

#include <fmt/format.h>

#include <trifold/error.hpp>

#include "generator/mixed.hpp"

namespace trifold::cpu {
namespace {

std::int64_t lanes_of(const Spec& spec, const Target& target) { return vector_bytes(target) / element_bytes(spec.precision); }

/// Side of the register tiles: the accumulators fit the registers and the edges are not too thin.
std::int64_t tile(const Spec& spec, const Target& target) {
    const auto n = spec.block;
    const std::int64_t widest = vector_registers(target) == 32 ? 4 : 3;
    if (n <= widest) return n;
    return n % 3 == 0 && n % 4 != 0 ? 3 : widest;
}

/// Whether D, E and the factor of all members are more than a core can expect of a third-level cache; measured: see
/// docs/performance-cpu.md. Blocks of less than two lines of a cache are left to the processor.
bool is_far(const Spec& spec) {
    constexpr double near_bytes = 13 << 20;
    const auto block_bytes = static_cast<double>(spec.block * spec.block * element_bytes(spec.precision));
    return block_bytes >= 128 && 4 * block_bytes * static_cast<double>(spec.horizon) * static_cast<double>(spec.batch) > near_bytes;
}

}  // namespace

bool lanes_pay(const Spec& spec, const Target& target) {
    constexpr std::int64_t widest_row = 96;  // bytes; measured: see docs/performance-cpu.md
    return spec.batch >= lanes_of(spec, target) && spec.block * element_bytes(spec.precision) <= widest_row;
}

Variant lanes_variant(const Spec& spec, const Target& target) {
    const auto n = spec.block, area = n * n;
    if (n > max_lanes_block)
        throw SpecError(fmt::format("CPU variant lanes serves blocks up to {}, not {}; give auto or tile", max_lanes_block, n));
    const auto rhs = checked_multiply(n, spec.rhs, "right-hand sides of a block");
    const auto vectors = checked_add(11 * area + 2 * n, checked_multiply(5, rhs, "scratch of a worker"), "scratch of a worker");
    const auto scratch = checked_multiply(vectors, vector_bytes(target), "scratch of a worker");
    Variant result{
        "lanes", {}, {area, area, area, area, rhs}, round_up(scratch, workspace_alignment), round_up(spec.batch, lanes_of(spec, target))};
    for (const auto phase : phases) result.shapes[phase].members_per_task = lanes_of(spec, target);
    for (const auto phase : {Phase::finish_factor, Phase::finish_forward}) result.shapes[phase] = {};
    return result;
}

std::string lanes_constants(const Program& program) {
    const auto spec = inner_spec(program.spec);
    const auto lanes = lanes_of(spec, program.target);
    return fmt::format(
        "#define TRIFOLD_LANES {}\n#define TRIFOLD_LEADING {}\n#define TRIFOLD_INTERLEAVE {}\n#define TRIFOLD_TILE {}\n"
        "#define TRIFOLD_FAR {:d}\n",
        lanes, spec.block, lanes, tile(spec, program.target), is_far(spec));
}

}  // namespace trifold::cpu
