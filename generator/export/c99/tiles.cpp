#include <fmt/format.h>

#include "generator/export/c99/parts.hpp"
#include "generator/export/c99/unrolled.hpp"
#include "generator/export/c99/unrolled_text.hpp"

namespace trifold {
namespace {

using namespace unrolled;

/// Largest blocks whose sweeps, and whose panels, are taken as a whole: larger ones cost more code than they save instructions.
constexpr Int largest_whole_sweep = 8, largest_whole_panel = 6;

std::string sum(Int row, Int column) { return fmt::format("c{}{}", row, column); }
/// Columns of a tile that row `row` has: of a corner, those up to the diagonal.
Int width_of(Int row, Int columns, bool corner) { return corner ? row + 1 : columns; }

std::string load_sums(std::string_view source, Int rows, Int columns, bool corner) {
    std::string text;
    for (Int r = 0; r < rows; ++r)
        text += declare("    real", width_of(r, columns, corner), [&](Int c) { return sum(r, c) + " = " + element(source, r, c); });
    return text;
}

/// One product for each sum, of a column of a and one of b, which may be the same.
std::string subtract_outer(std::string_view a, std::string_view b, Int rows, Int columns, bool corner) {
    const auto operands = [](char letter, std::string_view pointer, Int count) {
        return declare("        const real", count, [&](Int k) { return fmt::format("{}{} = {}", letter, k, element(pointer, k)); });
    };
    auto text = operands('a', a, rows);
    if (a != b) text += operands('b', b, columns);
    for (Int r = 0; r < rows; ++r)
        for (Int c = 0; c < width_of(r, columns, corner); ++c)
            text += fmt::format("        {} -= a{} * {}{};\n", sum(r, c), r, a == b ? 'a' : 'b', c);
    return text;
}

/// Finishes a tile's columns once all products with columns of earlier tiles are subtracted.
std::string finish_tile(Int rows, Int columns, bool ldlt) {
    std::string text;
    for (Int c = 0; c < columns; ++c) {
        for (Int k = 0; k < c; ++k)
            for (Int r = 0; r < rows; ++r) text += fmt::format("    {} -= {} * {};\n", sum(r, c), sum(r, k), element("b", c, k));
        for (Int r = 0; r < rows && !ldlt; ++r) text += fmt::format("    {} *= {};\n", sum(r, c), element("b", c, c));
    }
    for (Int r = 0; r < rows; ++r)
        for (Int c = 0; c < columns; ++c) text += fmt::format("    {} = {};\n", element("y", r, c), sum(r, c));
    return text;
}

std::string tile(Int rows, Int columns, bool ldlt) {
    return filled(section("solver.c", "tile"), {{"LOADS", load_sums("s", rows, columns, false)},
                                                {"BEFORE", subtract_outer("a", "b", rows, columns, false)},
                                                {"OWN", subtract_outer("y", "b", rows, columns, false)},
                                                {"FINISH", finish_tile(rows, columns, ldlt)}});
}

/// Takes pivot k of a corner: scales its column below it, then subtracts that column's products.
std::string take_pivot(Int k, Int columns, bool ldlt, std::string_view entries) {
    auto text = fmt::format("    if (!is_sound({}, {})) {{\n        return {};\n    }}\n", sum(k, k), element(entries, k, k),
                            k > 0 ? fmt::format("j + {}", k) : "j");
    const auto reciprocal = fmt::format("reciprocal{}", k);
    text += fmt::format("    const real {} = 1 / {};\n", reciprocal, ldlt ? sum(k, k) : fmt::format("BTD_SQRT({})", sum(k, k)));
    text += fmt::format("    {} = {};\n", element("l", k, k), reciprocal);
    for (Int r = k + 1; r < columns; ++r) {
        if (!ldlt) text += fmt::format("    {} *= {};\n", sum(r, k), reciprocal);
        text += fmt::format("    {} = {};\n", element("l", r, k), sum(r, k));
        if (ldlt) text += fmt::format("    const real m{}{} = {} * {};\n", r, k, sum(r, k), reciprocal);
        if (ldlt) text += fmt::format("    {} = m{}{};\n", element("own", r, k), r, k);
    }
    for (Int r = k + 1; r < columns; ++r)
        for (Int c = k + 1; c <= r; ++c) text += fmt::format("    {} -= {} * {}{}{};\n", sum(r, c), sum(r, k), ldlt ? 'm' : 'c', c, k);
    return text;
}

/// Parameters of a factorization other than its blocks: multipliers for ldlt. Chains need the diagonal entries that pivots began with,
/// since a separator has had products subtracted.
std::string parameters(bool ldlt, bool chains) { return ldlt ? "const real* scaled, real* own, " : chains ? "const real* entries, " : ""; }

std::string corner(Int columns, bool ldlt, bool chains) {
    std::string finish;
    for (Int k = 0; k < columns; ++k) finish += take_pivot(k, columns, ldlt, chains ? "entries" : "d");
    return from("solver.c", "factor_corner",
                {{"COLUMNS", fmt::format("{}", columns)},
                 {"LAST", fmt::format("{}", columns - 1)},
                 {"PARAMETERS", parameters(ldlt, chains)},
                 {"NEXT_BEFORE", ldlt ? "        ++scaled;\n" : ""},
                 {"NEXT_OWN", ldlt ? "        ++own;\n" : ""},
                 {"LOADS", load_sums("d", columns, columns, true)},
                 {"BEFORE", subtract_outer("before", ldlt ? "scaled" : "before", columns, columns, true)},
                 {"OWN", subtract_outer("l", ldlt ? "own" : "l", columns, columns, true)},
                 {"FINISH", finish}});
}

/// Factors a block in place, from a given row on. Columns that are done already must not be done again: those before `row` in its corner's
/// rows, and those before the corner in the rows below.
std::string finish_block(Int n, const Tiling& tiling, bool ldlt, bool chains) {
    const bool whole = n <= tiling.columns;
    return from("solver.c", "finish_block",
                {{"PARAMETERS", chains ? parameters(false, true) : ""},
                 {"CORNER", whole ? "" : fmt::format("    const int corner = row - row % {0}, below = corner + {0};\n", tiling.columns)},
                 {"BREAK", chains ? "\n" + std::string(33, ' ') : " "},
                 {"START", whole ? "row" : "r < below ? row : corner"},
                 {"ENTRIES", chains ? "entries" : "d"},
                 {"BEFORE", ldlt ? "(before[c * n + k] * (l - BLOCK)[k * n + k])" : "before[c * n + k]"},
                 {"OWN", ldlt ? "(l[c * n + k] * l[k * n + k])" : "l[c * n + k]"},
                 {"SCALE", ldlt ? "" : " * l[c * n + c]"},
                 {"ROOT", ldlt ? "sum" : "BTD_SQRT(sum)"}});
}

std::string columns_function(Int n, const Tiling& tiling, Int columns, bool ldlt) {
    const auto rest = n % tiling.rows, full = n - rest;
    std::string tiles = full > 0 ? "" : "    (void)first;\n";
    if (full > 0)
        tiles += fmt::format("    for (int r = first; r < {}; r += {}) {{\n{}    }}\n", full, tiling.rows,
                             indented(tile(tiling.rows, columns, ldlt), 4));
    if (rest > 0) tiles += fmt::format("    {{\n        const int r = {};\n{}    }}\n", full, indented(tile(rest, columns, ldlt), 4));
    return from("solver.c", "solve_columns",
                {{"COLUMNS", fmt::format("{}", columns)},
                 {"LAST", fmt::format("{}", columns - 1)},

                 {"TILES", tiles}});
}

/// Factors `columns` columns from j on: their pivots, then the rows below them where there are any.
std::string factor_columns(Int columns, const std::string& j, bool rows_below, bool ldlt, bool chains) {
    std::string text;
    const auto before = row_of("before", j), l = row_of("l", j), column = j == "0" ? "" : " + " + j;
    if (ldlt) {
        text += fmt::format("real multipliers[{0} * n];\nreal own[{0} * n];\n", columns);
        text += fmt::format("scale_rows({}, l - (width > 0 ? BLOCK : 0), {}, width, 0, multipliers);\n", before, columns);
        text += fmt::format("scale_rows({}, l, {}, {}, 0, own);\n", l, columns, j);
    }
    const auto more = ldlt ? "multipliers, own, " : chains ? row_of("entries", j) + column + ", " : "";
    text += fmt::format("failed = factor_corner_{}({}{}, {}, width, {}{}, {});\n", columns, row_of("d", j), column, before, more, l, j);
    if (rows_below)
        text += fmt::format("if (failed < 0) {{\n    solve_columns_{}(d, before, width, {}, {}, l, {}, {});\n}}\n", columns,
                            ldlt ? "multipliers" : before, ldlt ? "own" : l, j,
                            j == "0" ? fmt::format("{}", columns) : fmt::format("{} + {}", j, columns));
    return text;
}

/// Solves for a panel's columns. With ldlt there are no chains, and so no block before a panel.
std::string solve_columns(Int columns, const std::string& j, bool ldlt) {
    if (!ldlt)
        return fmt::format("solve_columns_{}(source, before, width, {}, {}, x, {}, 0);\n", columns, row_of("multipliers", j),
                           row_of("l", j), j);
    return fmt::format(
        "real own[{0} * n];\n"
        "scale_rows({1}, l, {0}, {2}, 1, own);\n"
        "solve_columns_{0}(source, before, 0, own, own, x, {2}, 0);\n",
        columns, row_of("l", j), j);
}

std::string panel(Int n, const Tiling& tiling, bool ldlt, bool chains) {
    const auto width = tiling.columns, rest = n % width, full = n - rest;
    std::string factor = "    int failed = -1;\n", solve = ldlt ? "    (void)multipliers;\n    (void)width;\n" : "";
    if (full > 0) {
        factor += fmt::format("    for (int j = 0; j < {} && failed < 0; j += {}) {{\n{}    }}\n", full, width,
                              indented(factor_columns(width, "j", n > width, ldlt, chains), 8));
        solve +=
            fmt::format("    for (int j = 0; j < {}; j += {}) {{\n{}    }}\n", full, width, indented(solve_columns(width, "j", ldlt), 8));
    }
    if (rest > 0) {
        const auto j = fmt::format("{}", full);
        factor += fmt::format("    if (failed < 0) {{\n{}    }}\n", indented(factor_columns(rest, j, false, ldlt, chains), 8));
        solve += indented(solve_columns(rest, j, ldlt), 4);
    }
    return from("solver.c", "factor_block", {{"FACTOR", factor}, {"SOLVE", solve}, {"PARAMETERS", ldlt ? "" : parameters(ldlt, chains)}});
}

std::string product(Int n, const Tiling& tiling) {
    const auto tile = [&](Int rows, Int columns) {
        std::string stores;
        for (Int r = 0; r < rows; ++r)
            for (Int c = 0; c < columns; ++c) stores += fmt::format("    {} = {};\n", element("s", r, c), sum(r, c));
        const auto text = filled(section("partitioned.c", "product_tile"), {{"LOADS", load_sums("s", rows, columns, false)},
                                                                            {"PRODUCTS", subtract_outer("u", "v", rows, columns, false)},
                                                                            {"STORES", stores}});
        return indented(text, -4);
    };
    const auto text =
        loop(n, tiling.rows, 'r', [&](Int rows) { return loop(n, tiling.columns, 'j', [&](Int columns) { return tile(rows, columns); }); });
    return from("partitioned.c", "subtract_product", {{"TILES", indented(text, 4)}});
}

}  // namespace

// The sums of a tile are to stay in registers, with an operand for each column and one more: rows x columns + columns + 1. A Cortex-M7 has
// 32 registers in single precision and 16 in double, aarch64 and RISC-V 32 in both, x86-64 16.
Tiling tiling_of(const ExportRequest& request) {
    const auto n = request.spec.block;
    const bool single = is_single(request.spec);
    const bool calls_functions = request.target.arch == "cortex-m4" && !single;  // for every operation: nothing stays in registers
    if (request.optimize == Optimize::size || calls_functions) return {2, 2, 2};
    const auto sweep_rows = n <= largest_whole_sweep ? n : 4;
    if (n > largest_whole_panel) return {single ? 4 : 2, 4, sweep_rows};
    if (single) return {n == 6 ? 3 : n, n, sweep_rows};
    return {n <= 4 ? n : 2, n, sweep_rows};
}

std::string c99_factorization(const ExportRequest& request) {
    const auto n = request.spec.block;
    const auto tiling = tiling_of(request);
    const bool ldlt = request.factorization == Factorization::ldlt;
    auto text = section("solver.c", to_string(request.factorization));
    const bool chains = !exported_chains(request).empty();
    text += finish_block(n, tiling, ldlt, chains);
    text += for_sizes(n, tiling.columns,
                      [&](Int columns) { return columns_function(n, tiling, columns, ldlt) + corner(columns, ldlt, chains); });
    return text + panel(n, tiling, ldlt, chains);
}

std::string c99_products(const ExportRequest& request) {
    return product(request.spec.block, tiling_of(request)) + c99_vector_products(request);
}

}  // namespace trifold
