#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <trifold/error.hpp>

#include "generator/backend.hpp"
#include "generator/cpu_lanes.hpp"
#include "generator/mixed.hpp"

namespace trifold::cpu {
namespace {

/// Whether halves of vectors of 64 bytes hold a column with so much less padding that they are faster: up to one and a half vectors, and on
/// Zen 4, where halves take half the time, at every length.
bool halves_pay(const Spec& spec, const Target& target, std::int64_t widest) {
    const auto n = spec.block, in_last = n % widest;
    if (n < widest) return true;
    return in_last > 0 && in_last <= widest / 2 && (n < 2 * widest || target.arch == "znver4");
}

/// Elements of one vector: a whole register, half of a wide one, or less when a smaller power of two already holds a column.
std::int64_t lanes(const Spec& spec, const Target& target) {
    const std::int64_t bytes = vector_bytes(target), widest = bytes / element_bytes(spec.precision);
    const auto most = bytes == 64 && halves_pay(spec, target, widest) ? widest / 2 : widest;
    return std::min(most, static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(spec.block))));
}

std::int64_t leading(const Spec& spec, const Target& target) { return round_up(spec.block, lanes(spec, target)); }

/// Columns of a register tile: with three vectors of rows a column, the accumulators, the rows and a multiplier fill the registers.
std::int64_t tile_width(const Spec& spec, const Target& target) {
    return std::min<std::int64_t>(lanes(spec, target), vector_registers(target) / 4);
}

/// Whether vectors are carried out in two halves, of which tiles on the diagonal then leave some out.
bool halves(const Spec& spec, const Target& target) {
    return target.arch == "znver4" && lanes(spec, target) * element_bytes(spec.precision) == 64 &&
           tile_width(spec, target) == lanes(spec, target);
}

/// Lines fetched for the next front every so many columns of a tile's products: of what it reads, and as many of what it writes.
struct Fetch {
    std::int64_t lines, columns;
};

/// The least block whose fronts fetch for the next one; smaller ones gain nothing from it, by measurement.
std::int64_t fetches_from(const Target& target) {
    if (target.arch == "znver4") return 48;
    return vector_bytes(target) == 64 ? 25 : 32;
}

/// At the rate at which the products of a front last for the 3/2 n^2 reals that the next one reads; more than two lines at a time get in
/// the products' way. Nothing where all blocks fit in a second-level cache.
Fetch fetch(const Spec& spec, const Target& target) {
    constexpr double cache = 1 << 20, line = 64, columns = 4;
    const auto n = static_cast<double>(spec.block), bytes = static_cast<double>(element_bytes(inner_spec(spec).precision));
    const auto blocks = static_cast<double>(spec.horizon) * static_cast<double>(spec.batch);
    if (spec.block < fetches_from(target) || 3 * n * n * bytes * blocks < cache) return {0, 4};
    const auto tile = static_cast<double>(3 * lanes(spec, target) * tile_width(spec, target));
    const auto lines = 1.5 * n * n * bytes / line, steps = 7.0 / 6 * n * n * n / (tile * columns), rate = lines / steps;
    if (rate < 0.8) return {1, 4 * std::lround(1 / rate)};
    return {rate < 1.2 ? 1 : 2, 4};
}

/// One member and one chain a task, each block a set of register tiles.
Variant tile_variant(const Spec& spec, const Target& target) {
    const auto n = spec.block, ld = leading(spec, target);
    const auto vector = checked_multiply(ld, spec.rhs, "right-hand sides of a block");
    // Three sets of right-hand sides for the sweeps, ten blocks for the selected inverse.
    const auto inverse = spec.operations.contains(Operation::inverse) ? 10 * n * ld : 0;
    const auto scratch = checked_multiply(std::max(3 * vector, inverse), element_bytes(spec.precision), "scratch of a worker");
    Variant variant{"tile", {}, {n * ld + ld, n * ld, n * ld, n * ld, vector}, round_up(scratch, workspace_alignment), spec.batch};
    for (const auto phase : phases) variant.shapes[phase] = {};
    return variant;
}

Variant named_variant(const Spec& spec, const Target& target, const std::string& name) {
    if (name == "lanes" || (name == "auto" && lanes_pay(spec, target))) return lanes_variant(spec, target);
    if (name == "auto" || name == "tile") return tile_variant(spec, target);
    throw SpecError(fmt::format("unknown CPU variant '{}'; give auto, tile or lanes", name));
}

/// The templates of a variant, in the order they are pasted.
std::vector<std::string> templates_of(const Program& program) {
    std::vector<std::string> names{"common", "fetch", "tile", "diagonal", "load", "front", "sweep", "factor"};
    if (program.variant.name == "lanes")
        names = {"common", "lanes_pieces", "lanes_fetch", "lanes", "lanes_arrays", "lanes_factor", "lanes_sweep", "lanes_inverse"};
    if (program.variant.name == "tile" && has_kernel(program, Phase::inverse)) names.push_back("inverse");
    names.push_back("finish");
    if (program.spec.precision == Precision::mixed) names.push_back("mixed");
    return names;
}

/// Lanes of a vector that ends at a column's last row, then of a zero vector: the rows of the last, partial vector, padded.
std::string shift(std::int64_t block, std::int64_t lanes) {
    std::vector<std::int64_t> list;
    for (std::int64_t lane = 0; lane < lanes; ++lane) list.push_back(lane + lanes - block % lanes);
    return fmt::format("#define TRIFOLD_SHIFT {}\n", fmt::join(list, ", "));
}

/// Lanes of a pair of vectors, counted through both, that LOW_w and HIGH_w of common.c take.
std::string shuffles(std::int64_t lanes) {
    std::string text;
    for (std::int64_t w = 1; w < lanes; w *= 2) {
        for (const auto high : {false, true}) {
            std::vector<std::int64_t> list;
            for (std::int64_t lane = 0; lane < lanes; ++lane) {
                const auto start = lane / (2 * w) * (2 * w), offset = lane % (2 * w);
                list.push_back(start + offset % w + (offset < w ? 0 : lanes) + (high ? w : 0));
            }
            text += fmt::format("#define TRIFOLD_{}_{} {}\n", high ? "HIGH" : "LOW", w, fmt::join(list, ", "));
        }
    }
    return text;
}

std::string constants(const Program& program) {
    const auto spec = inner_spec(program.spec);
    const auto& target = program.target;
    std::string text;
    const auto define = [&](std::string_view name, std::int64_t value) { text += fmt::format("#define TRIFOLD_{} {}\n", name, value); };
    const bool in_lanes = program.variant.name == "lanes";
    if (in_lanes) {
        text += lanes_constants(program);
    } else {
        define("LANES", lanes(spec, target));
        define("LEADING", leading(spec, target));
        define("INTERLEAVE", 1);
        define("WIDTH", tile_width(spec, target));
        define("HALVES", halves(spec, target) ? 1 : 0);
        const auto [lines, columns] = fetch(spec, target);
        define("FETCH_LINES", lines);
        define("FETCH_COLUMNS", columns);
        const bool fill = buffer(program, "behind").bytes > 0;
        define("FILL", fill ? 1 : 0);
        define("FRONTS_HAVE_PRODUCTS", fill || has_kernel(program, Phase::inverse) ? 1 : 0);
    }
    define("SCRATCH_BYTES", program.variant.scratch_bytes);
    define("SIZEOF_ARGS", sizeof(trifold_args));
    define("SIZEOF_LEVEL", sizeof(trifold_level));
    const auto width = in_lanes ? vector_bytes(target) / element_bytes(spec.precision) : lanes(spec, target);
    return text + shuffles(width) + shift(spec.block, width) + "\n";
}

/// The templates define every entry point; those that no operation needs become static, and so are not compiled. Or all become static.
std::string static_kernels(const Program& program, bool all) {
    std::vector<Phase> pasted(std::begin(phases), std::end(phases));
    if (program.spec.precision == Precision::mixed) pasted.insert(pasted.end(), std::begin(mixed_phases), std::end(mixed_phases));
    if (program.variant.name == "tile" && !has_kernel(program, Phase::inverse)) std::erase(pasted, Phase::inverse);
    std::string text;
    for (const auto phase : pasted) {
        if (!all && has_kernel(program, phase)) continue;
        text += fmt::format(
            "static void {}(const trifold_args*, const trifold_level*, trifold_int, trifold_int, void*) __attribute__((unused));\n",
            kernel_macro(phase));
    }
    return text;
}

std::string emit_body(const Program& program, bool all_static) {
    auto text = fmt::format("\n{}{}", constants(program), static_kernels(program, all_static));
    for (const auto& name : templates_of(program)) {
        if (name == "mixed") text += fmt::format("#define TRIFOLD_MIXED_FUNCTION INLINE\n{}\n", template_text("mixed.h"));
        text += fmt::format("{}\n", template_text("cpu/" + name + ".c"));
    }
    return text;
}

}  // namespace

Variant choose_variant(const Spec& spec, const Target& target, const Tuning& tuning, const Schedule&) {
    auto variant = named_variant(spec, target, tuning.variant);
    for (const auto phase : mixed_phases) variant.shapes[phase] = {};
    return variant;
}

std::vector<std::string> compile_options(const Target& target, const Variant& variant) {
    std::vector<std::string> options{"-std=gnu11", fmt::format("-march={}", instruction_set(target)), "-ffp-contract=fast",
                                     "-fno-math-errno"};
    // Register tiles are vectors already: looking for more of them doubles the time to compile, and the kernels get no faster.
    if (variant.name == "tile") {
        options.insert(options.end(), {"-O2", "-fno-unroll-loops", "-fno-tree-vectorize", "-fno-tree-slp-vectorize"});
    } else {
        options.push_back("-O3");
    }
    // Compilers halve explicit 512-bit vectors at this level unless told not to.
    if (vector_bytes(target) == 64) options.push_back("-mprefer-vector-width=512");
    return options;
}

std::string emit(const Program& program) { return emit_prologue(program) + emit_body(program, false); }

std::string emit_static(const Program& program) {
    const auto prologue = emit_prologue(program);
    return prologue.substr(prologue.find("#define")) + emit_body(program, true);
}

}  // namespace trifold::cpu
