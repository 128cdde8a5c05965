#include <fmt/format.h>
#include <fmt/ranges.h>

#include <trifold/generate.hpp>

#include "generator/export/c99/parts.hpp"
#include "generator/export/text.hpp"
#include "generator/tridiagonal/backend.hpp"

namespace trifold {
namespace {

/// Comment at the top of the header: sections of solver.h, of which one says the memory and one the work.
std::string header_comment(const ExportRequest& request) {
    const bool has_kernels = uses_kernels(request), is_prefactored = request.prefactored.has_value();
    const auto factor = exported_factor_counts(request), solve = exported_solve_counts(request);
    auto values = project_values(request);
    const auto fill = [&](std::string_view name) { return filled(section("solver.h", name), values); };
    values["WORDS"] = is_single(request.spec) ? "single precision" : "double precision";
    values["FACTOR_COUNTS"] = fmt::format("{} multiply-subtract, {} multiply, {} divide, {} square root", factor.multiply_subtract,
                                          factor.multiply, factor.divide, factor.square_root);
    values["SOLVE_COUNTS"] = fmt::format("{} multiply-subtract, {} multiply, {} add", solve.multiply_subtract, solve.multiply, solve.add);
    values["CORRECTION"] = request.corrections > 0 ? fill("correction") : "";
    values["ROUNDING"] = fill("rounding");
    values["MEMORY"] = fill(is_prefactored ? "memory_prefactored" : "memory");
    values["WORK"] = fill(has_kernels ? "work_kernels" : is_prefactored ? "work_prefactored" : "work");
    return fill("comment");
}

std::string index_macro(std::string_view name, const Strides& strides, std::int64_t extent) {
    return fmt::format("#define BTD_{0}(i, r, c) ((i) * {1} + (r) * {2} + (c) * {3})\n#define BTD_{0}_SIZE {4}\n", name, strides.stage,
                       strides.row, strides.column, std::max<std::int64_t>(extent, 1));
}

std::string sizes(const Spec& spec) {
    return fmt::format(
        "/* n, N and m. */\n"
        "#define BTD_BLOCK {}\n"
        "#define BTD_HORIZON {}\n"
        "#define BTD_RHS {}\n"
        "/* Blocks that hold couplings of factors: N - {}, but one where there is none, because arrays are not empty. */\n"
        "#define BTD_COUPLINGS {}\n"
        "/* In D, index of element (r, c) of block i; in E, of the block that couples block i (columns) to block i + 1 (rows); and their "
        "sizes. */\n"
        "{}{}\n"
        "typedef {} btd_real;\n\n",
        spec.block, spec.horizon, spec.rhs, chain_blocks(spec) < spec.horizon ? 2 : 1, std::max<std::int64_t>(chain_blocks(spec) - 1, 1),
        index_macro("D", diagonal_strides(spec), diagonal_extent(spec, 1)),
        index_macro("E", coupling_strides(spec), coupling_extent(spec, 1)), is_single(spec) ? "float" : "double");
}

std::string shift_list(const Prefactored& a) {
    return fmt::format(
        "/* The shifts for which there are factors. */\n"
        "#define BTD_SHIFTS {}\n"
        "#define BTD_SHIFT_LIST {{{}}}\n\n",
        a.shifts.size(), fmt::join(a.shifts, ", "));
}

std::string chain_count(const ExportRequest& request) {
    const auto chains = exported_chains(request).size();
    if (chains == 0) return "";
    return fmt::format("/* Chains of blocks that do not depend on one another; one block between two. */\n#define BTD_CHAINS {}\n\n",
                       chains);
}

std::string table(std::string_view type, std::string_view name, std::string_view extent, const std::vector<std::string>& rows) {
    return fmt::format("static const {} {}[{}] = {{\n    {},\n}};\n\n", type, name, extent, fmt::join(rows, ",\n    "));
}

/// The chains of the schedule and the blocks between them, by position.
std::string chain_tables(const std::vector<ExportedChain>& chains) {
    std::vector<std::string> rows, separators;
    const auto last = std::ssize(chains) - 1;
    for (std::int64_t c = 0; c <= last; ++c) {
        const auto& [first, length, step] = chains[static_cast<std::size_t>(c)];
        const auto behind = step > 0 ? c - 1 : -1, ahead = step < 0 ? c - 1 : c < last ? c : -1;
        rows.push_back(fmt::format("{{{}, {}, {}, {}, {}}}", first, length, step, behind, ahead));
        if (c < last) separators.push_back(fmt::format("{}", first + length));
    }
    return "/* ---- chains: blocks that one task eliminates, between separators ---- */\n\n"
           "/* Blocks first, first + step, ..., and the separators that the chain starts beside and runs to; -1: none. Every front of a "
           "chain is\n"
           " * coupled to the separator behind. */\n"
           "typedef struct {\n"
           "    int first, length, step, behind, ahead;\n"
           "} chain;\n\n"
           "enum { SEPARATORS = BTD_CHAINS - 1 };\n\n" +
           table("chain", "chains", "BTD_CHAINS", rows) + "/* Their blocks. */\n" + table("int", "separators", "SEPARATORS", separators);
}

/// Sections of a template, one after another.
std::string sections(std::string_view file, const std::vector<std::string_view>& names) {
    std::string text;
    for (const auto name : names) text += fmt::format("{}{}", text.empty() ? "" : "\n", section(file, name));
    return text;
}

std::string interface(const ExportRequest& request) {
    if (request.prefactored) return section("solver.h", "prefactored");
    const bool has_kernels = uses_kernels(request), has_chains = !exported_chains(request).empty();
    const bool const_solve = !has_kernels && !has_chains;
    const auto memory = has_chains ? "workspace_partitioned" : has_kernels ? "workspace_kernels" : "workspace";
    std::vector<std::string_view> names{memory, "calls"};
    if (const_solve && is_dense(request.spec)) names.push_back("refactor");
    if (has_inertia(request.spec)) names.push_back("inertia");
    if (is_general(request.spec)) names.push_back("transposed");
    if (has_chains) names.push_back("set_parallel_for");
    if (request.corrections > 0) names.push_back("solve_refined");
    auto values = factor_words(request);
    values.merge(shape_words(request));
    values["CORRECTIONS"] = fmt::format("{}", request.corrections);
    values["SOLVED"] = const_solve ? "const btd_workspace" : "btd_workspace";
    return filled(sections("solver.h", names), values);
}

std::string kernel_sizes(const Design& design) { return fmt::format("#define BTD_WORKSPACE_BYTES {}\n\n", design.workspace_bytes); }

/// The kernels' source, static, and the one level that they work on.
std::string kernel_unit(const Design& design) {
    const auto level = kernel_level(design.schedule, 0);
    return fmt::format("#define TRIFOLD_OFFSET_SCRATCH {}\n", design.workspace_bytes - design.lowered.scratch_bytes) +
           cpu::emit_static(design) +
           fmt::format(
               "/* One chain of all blocks. */\n"
               "static const trifold_level every_block = {{.scale = 1, .size = {}, .next_scale = {}, .chains = 1, .runs = 1, .run = {{{{0, "
               "{}, 1, {}, 1}}}}}};\n",
               level.size, level.next_scale, level.run[0].stride, level.run[0].length);
}

std::string kernel_body(const ExportRequest& request) {
    const auto design = kernel_design(request);
    const bool general = is_general(request.spec), inertia = has_inertia(request.spec);
    std::vector<std::string_view> names{"kernels",
                                        general                                     ? "general"
                                        : has_kernel(design, Phase::factor_forward) ? "sweeps"
                                                                                    : "panels",
                                        "least_pivot"};
    if (inertia) names.push_back("inertia");
    const Values values{
        {"RESET",
         inertia ? "        reduction[BTD_HORIZON + k] = reduction[2 * BTD_HORIZON + k] = 0; /* what has grown, and the largest entry */\n"
                 : ""},
        {"U_DEFINED", general ? ", const btd_real* u" : ""},
        {"U_FIELD", general ? "                               .inverse_coupling = (void*)u,\n" : ""}};
    return fmt::format("{}\n{}\n{}\n{}{}", sections("solver.c", {"outcome", "computed", "check_finite", "poison"}), kernel_unit(design),
                       filled(sections("kernels.c", names), values), general ? "\n" + section("solver.c", "factor_solve") : "",
                       "\n" + section("solver.c", "init"));
}

std::string plain_body(const ExportRequest& request) {
    const auto sweeps = section("solver.c", "poison") + "\n" + c99_sweeps(request) + "\n";
    if (request.prefactored)
        return sections("solver.c", {"blocks", "outcome"}) + "\n" + sweeps + c99_solution(request) + "\n" +
               section("solver.c", "prefactored");
    const auto blocks = sections("solver.c", {"blocks", "outcome", "computed"}) + "\n" + sweeps;
    const auto& spec = request.spec;
    const bool signs = has_signs(spec);
    const auto least = "\n" + (signs ? section("solver.c", "inertia")
                                     : filled(section("solver.c", "least_pivot"),
                                              {{"ENTRY", has_shape(spec) ? "workspace->entries[i * n + r]" : "d[BTD_D(i, r, r)]"},
                                               {"SQUARE", request.factorization == Factorization::ldlt ? "" : " * reciprocal"},
                                               {"TIP_PIVOTS", (has_shape(spec) ? "    (void)d;\n" : "") +
                                                                  (tip_rows(spec) > 0 ? section("shapes.c", "tip_pivots") : "")}}));
    const auto chains = exported_chains(request);
    const auto factor = is_dense(spec) ? "factor_in_place" : "factor_copies";
    const auto system =
        has_shape(spec) ? c99_solution(request) + "\n" + section("solver.c", "keep") + c99_shaped_system(request) + "\n" +
                              sections("solver.c", {"factor_solve", "init"})
        : chains.empty() ? c99_solution(request) + "\n" +
                               sections("solver.c", {signs ? "both_signs" : "sequential", "keep", "solve", factor, "factor_solve", "init"})
                         : chain_tables(chains) + section("solver.c", "check_finite") + "\n" + section("partitioned.c", "chains") +
                               c99_products(request) + "\n" + section("partitioned.c", "partitioned") + "\n" +
                               sections("solver.c", {"factor_solve", "init"});
    return blocks + section("solver.c", signs ? "pivots_of_both_signs" : "pivots") + "\n" + c99_factorization(request) + "\n" + system +
           least;
}

std::string square_root(const ExportRequest& request) {
    if (uses_kernels(request) || !has_square_roots(request)) return "";
    return fmt::format(
        "/* May be set likewise: another square root, which must round correctly for the same bits everywhere. */\n"
        "#ifndef BTD_SQRT\n"
        "#define BTD_SQRT(x) {}(x)\n"
        "#endif\n\n",
        is_single(request.spec) ? "sqrtf" : "sqrt");
}

constexpr std::string_view own_header = "#include \"btd_solver.h\"\n\n";
constexpr std::string_view system_headers =
    "#include <float.h>\n"
    "#include <math.h>\n"
    "#include <stdint.h>\n\n";

constexpr std::string_view index_check =
    "/* Indices are ints. */\n"
    "typedef char btd_int_has_32_bits[sizeof(int) >= 4 ? 1 : -1];\n\n";

/// Text above the functions of each source file.
std::string prologue(const Spec& spec) {
    return fmt::format(
        "#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)\n"
        "#error \"compile without -ffast-math and -ffinite-math-only: the tests of the pivots and of X rely on NaN and infinity\"\n"
        "#endif\n\n"
        "/* What stands before the functions; it may be set on the compiler's command line, to an attribute that puts them into fast "
        "memory. */\n"
        "#ifndef BTD_CODE\n"
        "#define BTD_CODE\n"
        "#endif\n\n"
        "#define BTD_LARGEST {0}_MAX\n"
        "#define BTD_EPSILON {0}_EPSILON\n\n",
        is_single(spec) ? "FLT" : "DBL");
}

}  // namespace

Design kernel_design(const ExportRequest& request) {
    auto spec = request.spec;
    spec.operations = {Operation::factor, Operation::solve, Operation::factor_solve};
    const auto kernels = machine_of(request.target).kernels;
    const Target target{Backend::cpu, std::string(kernels.empty() ? "x86-64" : kernels)};
    const auto* variant = !is_general(spec) ? "tile" : kernels.empty() ? "getrf:in_lanes=0,most_lanes=1" : "getrf:in_lanes=0";
    if (is_general(spec)) spec.operations = {Operation::factor, Operation::solve};
    return design(with_literal_sizes(choose(spec, target, {.schedule = "sequential", .variant = variant})));
}

std::string c99_header(const ExportRequest& request) {
    const bool has_kernels = uses_kernels(request);
    auto text = sizes(request.spec) + shape_macros(request.spec) + (has_kernels ? kernel_sizes(kernel_design(request)) : "") +
                (request.prefactored ? shift_list(*request.prefactored) : "") + chain_count(request) +
                filled(filled(section("solver.h", "status"), factor_words(request)), shape_words(request)) + "\n" + interface(request);
    if (request.data || request.prefactored) text += c99_data_declarations(request);
    return header_file(header_comment(request), "", "#define BTD_RESTRICT __restrict\n", "#else\n#define BTD_RESTRICT restrict\n", text);
}

std::string c99_source(const ExportRequest& request) {
    const bool has_kernels = uses_kernels(request);
    const auto what = has_kernels
                          ? std::string(
                                "/* See btd_solver.h. Not C99: GNU C with vector extensions, for GCC 12 and Clang. No recursion, no "
                                "heap, no library. */\n")
                          : fmt::format("/* See btd_solver.h. Plain C99, and C++ as well: no recursion, no heap, no library{}. */\n",
                                        has_square_roots(request) ? " but the square root" : "");
    return fmt::format("{}{}{}{}{}{}{}", what, own_header, system_headers, prologue(request.spec), square_root(request), index_check,
                       with_own_names(filled(has_kernels ? kernel_body(request) : plain_body(request), shape_words(request)), "solver"));
}

std::string c99_refine(const ExportRequest& request) {
    const bool single = is_single(request.spec);
    return fmt::format(
        "/* See btd_solver.h. Compile with -ffp-contract=off, as the Makefile does: sums rely on each rounding. */\n"
        "{}{}{}{}",
        system_headers, own_header, prologue(request.spec),
        with_own_names(
            filled(filled(sections("solver.c", {"outcome", "computed", "check_finite"}), shape_words(request)) + "\n" + section("refine.c"),
                   {{"HAS_FMA", single ? "FP_FAST_FMAF" : "FP_FAST_FMA"},
                    {"FMA", single ? "fmaf" : "fma"},
                    {"BITS", single ? "uint32_t" : "uint64_t"},
                    {"LOWER", single ? "0xFFF" : "0x7FFFFFF"}}),
            "refine"));
}

}  // namespace trifold
