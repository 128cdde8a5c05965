#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <trifold/cost.hpp>
#include <trifold/error.hpp>

#include "generator/export/c99/parts.hpp"

namespace trifold {
namespace {

/// Flops as socu counts them: 7/3 n^3 a block but for the last, and 6 n^2 a right-hand side.
std::int64_t nominal_factor_flops(const Spec& spec) {
    return static_cast<std::int64_t>(cost(sequential(spec.horizon), spec, 1).total.flops(spec.block));
}
std::int64_t nominal_solve_flops(const Spec& spec) { return 2 * spec.rhs * spec.block * spec.block * (3 * spec.horizon - 2); }

/// Two pointers, reals, and the ints of a status for each chain and of one for all: btd_workspace in the
/// section workspace_partitioned of templates/export/c99/solver.h.
std::int64_t partitioned_workspace(const Spec& spec, std::int64_t chains, std::int64_t pointer) {
    const auto bytes = element_bytes(spec.precision), block = spec.block * spec.block;
    const auto reals =
        checked_add(checked_multiply(3 * block, spec.horizon, "size of a solver"),
                    checked_multiply(2 * (chains - 1), block + spec.block * spec.rhs, "size of a solver"), "size of a solver");
    const auto alignment = std::max(pointer, bytes);
    return (2 * pointer + checked_multiply(reals, bytes, "size of a solver") + 4 * 3 * (chains + 1) + alignment - 1) / alignment *
           alignment;
}

/// Bytes of the workspace that a chain does not have: the sections shape_... of templates/export/c99/solver.h.
std::int64_t shape_bytes(const ExportRequest& request) {
    const auto& spec = request.spec;
    if (has_signs(spec)) return 2 * element_bytes(spec.precision) + 4;
    if (!has_shape(spec)) return 0;
    const auto tip = tip_rows(spec), blocks = chain_blocks(spec) + (request.factorization == Factorization::ldlt);
    const auto reals = x_elements(spec) / spec.rhs + tip * tip + checked_multiply(tip * spec.block, blocks, "size of a solver");
    return checked_multiply(reals, element_bytes(spec.precision), "size of a solver") + spec.sizes * 4 * spec.horizon;
}

/// Options for the parts of the layout that differ from the defaults.
std::string layout_options(const Spec& spec) {
    std::string text;
    if (has_inertia(spec)) text += fmt::format(" --matrix {}", is_general(spec) ? "general" : "symmetric");
    if (spec.ring) text += " --ring";
    if (spec.border > 0) text += fmt::format(" --border {}", spec.border);
    if (spec.sizes) text += " --sizes";
    if (spec.order == Order::column_major) text += " --order column-major";
    if (spec.coupling == Coupling::upper) text += " --coupling upper";
    for (const auto& [letter, layout] : {std::pair{'d', spec.d}, std::pair{'e', spec.e}}) {
        if (layout.leading != dense) text += fmt::format(" --{}-leading {}", letter, layout.leading);
        if (layout.stage != dense) text += fmt::format(" --{}-stage {}", letter, layout.stage);
    }
    return text;
}

}  // namespace

std::vector<ExportedChain> exported_chains(const ExportRequest& request) {
    if (request.schedule == "sequential") return {};
    const auto schedule = parse_schedule(request.schedule, request.spec.horizon);
    if (!request.schedule.starts_with("partitioned:") && !request.schedule.starts_with("twisted:"))
        throw SpecError(fmt::format("schedule '{}' cannot be exported; give sequential, partitioned:p or twisted:p", request.schedule));
    if (schedule.levels.size() != 2)
        throw SpecError(fmt::format("schedule '{}' of {} block(s) is one chain; give sequential", request.schedule, request.spec.horizon));
    std::vector<ExportedChain> chains;
    for (const auto& run : schedule.levels[0].runs)
        for (std::int64_t c = 0; c < run.count; ++c) chains.push_back({run.first + c * run.stride, run.length, run.step});
    std::ranges::sort(chains, {}, &ExportedChain::first);
    return chains;
}

ExportFacts export_facts(const ExportRequest& request) {
    const auto& spec = request.spec;
    const auto& machine = machine_of(request.target);
    const auto bytes = element_bytes(spec.precision);
    const auto blocks = [&](std::int64_t count) {
        return checked_multiply(checked_multiply(count, spec.block * spec.block, "size of a solver"), bytes, "size of a solver");
    };
    const auto chains = exported_chains(request);
    const auto workspace = [&](std::int64_t pointer) {
        constexpr std::int64_t vector = 64;
        if (uses_kernels(request)) return (kernel_design(request).workspace_bytes / vector + 1) * vector;
        if (!chains.empty()) return partitioned_workspace(spec, std::ssize(chains), pointer);
        const auto chain = chain_blocks(spec);
        const auto arrays = checked_add(blocks(chain), blocks(std::max<std::int64_t>(chain - 1, 1)), "size of a solver");
        const auto alignment = std::max(pointer, bytes);
        const std::int64_t status = (12 + bytes - 1) / bytes * bytes;
        return (2 * pointer + status + arrays + shape_bytes(request) + alignment - 1) / alignment * alignment;
    };
    std::string data = request.data ? " --data D.npy E.npy b.npy" : "";
    if (request.prefactored) data = fmt::format(" --prefactored D.npy E.npy --shift {}", fmt::join(request.prefactored->shifts, ","));
    if (!chains.empty()) data += fmt::format(" --schedule {}", request.schedule);
    if (request.factorization != Factorization::llt && !has_signs(spec))
        data += fmt::format(" --factorization {}", to_string(request.factorization));
    if (request.optimize != Optimize::speed) data += fmt::format(" --optimize {}", to_string(request.optimize));
    data += layout_options(spec);
    if (request.corrections > 0) data += fmt::format(" --refine {}", request.corrections);
    const auto shifts = request.prefactored ? std::ssize(request.prefactored->shifts) : 0;
    // ldlt.c has arrays of multipliers, two for the columns of a tile, and a compiler may put those of four calls into one frame.
    const auto row_bytes = request.factorization == Factorization::ldlt ? 8 * tiling_of(request).columns * spec.block * bytes + 512 : 0;
    const bool refines = request.corrections > 0;
    const int parts = chains.empty() && tip_rows(spec) == 0 ? 1 : 2;
    const std::size_t precision = spec.precision == Precision::f64;
    auto code_bytes = request.optimize == Optimize::size ? machine.code_bytes[precision] * 5 / 6 : machine.code_bytes[precision];
    auto stack_bytes = machine.stack_bytes[precision] * parts + row_bytes + (refines ? 320 : 0);
    if (has_signs(spec)) stack_bytes += (spec.block + 16) * bytes, code_bytes += 1024;  // sums of rows
    if (is_general(spec)) {                                                             // four arrays of sums
        stack_bytes = std::max<std::int64_t>(stack_bytes, 4096) + 4 * spec.block * bytes;
        code_bytes = std::max<std::int64_t>(code_bytes, 18432);
    }
    return {.arrays = array_bytes(spec),
            .workspace_bytes_32 = workspace(4),
            .workspace_bytes_64 = workspace(8),
            .border_bytes = spec.horizon * spec.border * spec.block * bytes,
            .corner_bytes = spec.border * spec.border * bytes,
            .table_bytes = checked_multiply(shifts, blocks(spec.horizon + std::max<std::int64_t>(spec.horizon - 1, 1)), "size of a solver"),
            .stack_bytes = stack_bytes,
            .code_bytes = code_bytes * parts + (refines ? 2048 : 0),
            .factor_flops = uses_kernels(request) ? nominal_factor_flops(spec) : exported_factor_counts(request).flops(),
            .solve_flops = uses_kernels(request) ? nominal_solve_flops(spec) : exported_solve_counts(request).flops(),
            .command = fmt::format("trifold export --block {} --horizon {} --precision {} --rhs {} --target {} --prefix {}{}", spec.block,
                                   spec.horizon, to_string(spec.precision), spec.rhs, to_string(request.target), request.prefix, data)};
}

bool has_dense_blocks(const Spec& spec) {
    return spec.order == Order::row_major && spec.coupling == Coupling::lower && spec.d == BlockLayout{} && spec.e == BlockLayout{};
}

bool is_dense(const Spec& spec) { return has_dense_blocks(spec) && !has_shape(spec); }

bool has_square_roots(const ExportRequest& request) { return !request.prefactored && request.factorization == Factorization::llt; }

Values factor_words(const ExportRequest& request) {
    const bool ldlt = request.factorization == Factorization::ldlt, general = is_general(request.spec), inertia = has_inertia(request.spec);
    const bool kernels = uses_kernels(request);
    return {
        {"KIND", general   ? "general"
                 : inertia ? "symmetric"
                           : "symmetric positive definite"},
        {"FAILED", inertia ? "The pivot" : "A is not positive definite: the pivot"},
        {"READ", general ? "all is read" : "the lower triangles are read"},
        {"RELATIVE_TO", inertia ? "the sum of its row" : "the diagonal entry that it began with"},
        {"GROWN", inertia ? " Or the factor grew." : ""},
        {"LEAST_OF", inertia ? "D is not read." : "D is that which was\n * factored: after _refactor, which overwrites it, a copy."},
        {"NEGATIVE", general ? "Pivots below zero and interchanges of the last factorization: det A has the sign of (-1) to that power;"
                             : "Pivots below zero of the last factorization: as many eigenvalues of A are below zero;"},
        {"GROWTH", general ? "The largest sum of products of a row of L and the largest entries of U's rows, over the largest entry of A."
                           : "The largest sum of a row of the factor over the largest entry of A."},
        {"MOST", is_single(request.spec) ? "15" : "28"},
        {"FACTORS", ldlt ? "L P, with 1 / P on the diagonal, A = L P L'" : "L, with 1 / L(k, k) on the diagonal"},
        {"PIVOTS", inertia ? "(1 / largest finite, largest finite] or its negative" : "(1 / largest finite, largest finite]"},
        {"SMALL", kernels || inertia ? "a pivot is" : "this pivot is the first one"},
        {"EPSILON", is_single(request.spec) ? "FLT_EPSILON" : "DBL_EPSILON"}};
}

}  // namespace trifold
