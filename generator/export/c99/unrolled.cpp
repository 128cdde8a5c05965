#include <fmt/format.h>

#include <functional>

#include "generator/export/c99/parts.hpp"

namespace trifold {
namespace {

using Int = std::int64_t;
using Values = std::map<std::string, std::string>;
using TextOf = std::function<std::string(Int)>;

/// Largest blocks whose sweeps, and whose panels, are taken as a whole: larger ones cost more code than they save instructions.
constexpr Int largest_whole_sweep = 8, largest_whole_panel = 6;

/// A section of a file of templates/export/c99, filled, behind an empty line.
std::string from(std::string_view file, std::string_view name, const Values& values) { return "\n" + filled(section(file, name), values); }

/// Lines moved to the right, or to the left where `by` is below 0.
std::string indented(std::string_view text, int by) {
    std::string result;
    for (std::size_t at = 0; at < text.size();) {
        const auto end = text.find('\n', at);
        const auto line = text.substr(at, end + 1 - at);
        result +=
            by < 0 ? std::string(line.substr(static_cast<std::size_t>(-by))) : std::string(static_cast<std::size_t>(by), ' ').append(line);
        at = end + 1;
    }
    return result;
}

/// Element (row, column) behind a pointer into rows that are `stride` apart: "l[2 * n + 1]".
std::string element(std::string_view pointer, Int row, Int column = 0, std::string_view stride = "n") {
    std::string index = row == 0 ? "" : row == 1 ? std::string(stride) : fmt::format("{} * {}", row, stride);
    if (column > 0 || index.empty()) index += fmt::format("{}{}", index.empty() ? "" : " + ", column);
    return fmt::format("{}[{}]", pointer, index);
}

/// A pointer to row j, which is a name or a number: "l + j * n".
std::string row_of(std::string_view pointer, std::string_view j) {
    return j == "0" ? std::string(pointer) : fmt::format("{} + {} * n", pointer, j);
}

/// A declaration of `count` names: "real s0 = b[0], s1 = b[1];".
std::string declare(std::string_view type, Int count, const TextOf& one) {
    std::string text(type);
    for (Int k = 0; k < count; ++k) text += (k > 0 ? ", " : " ") + one(k);
    return text + ";\n";
}

/// The text of `make` for `most`, where n is that large, and for n % `most`, where that is not 0.
std::string for_sizes(Int n, Int most, const TextOf& make) { return (n >= most ? make(most) : "") + (n % most > 0 ? make(n % most) : ""); }

/// `body` for `step` rows or columns at a time, and for what they leave of n; `variable` is a loop's or a constant. Where they leave none,
/// the loop may end before.
std::string loop(Int n, Int step, char variable, const TextOf& body, std::string_view first = "0", const std::string& end = {}) {
    const auto rest = n % step, full = n - rest;
    std::string text;
    if (full > 0)
        text += fmt::format("for (int {0} = {1}; {0} < {2}; {0} += {3}) {{\n{4}}}\n", variable, first,
                            rest > 0 || end.empty() ? fmt::format("{}", full) : end, step, indented(body(step), 4));
    if (rest > 0) text += fmt::format("{{\n    const int {} = {};\n{}}}\n", variable, full, indented(body(rest), 4));
    return text;
}

/// Loads elements of a vector into sums, and stores these.
std::string load_rows(std::string_view vector, Int rows) {
    return declare("    real", rows, [&](Int r) { return fmt::format("s{} = {}", r, element(vector, r, 0, "m")); });
}
std::string store_rows(std::string_view vector, Int rows) {
    std::string text;
    for (Int r = 0; r < rows; ++r) text += fmt::format("    {} = s{};\n", element(vector, r, 0, "m"), r);
    return text;
}

/// Subtracts products of `count` elements of the vector with as many columns of `rows` rows, or with as many rows of `rows` columns.
std::string subtract_many(std::string_view a, std::string_view x, Int rows, Int count, bool transposed, bool upwards, int indent) {
    std::string text;
    for (Int step = 0; step < count; ++step) {
        const auto k = upwards ? count - 1 - step : step;
        text += fmt::format("const real x{} = {};\n", k, element(x, k, 0, "m"));
        for (Int r = 0; r < rows; ++r) text += fmt::format("s{} -= {} * x{};\n", r, transposed ? element(a, k, r) : element(a, r, k), k);
    }
    return indented(text, indent);
}

/// Sums of a tile.
std::string sum(Int row, Int column) { return fmt::format("c{}{}", row, column); }
/// Columns of a tile that row `row` has: of a corner, those up to the diagonal.
Int width_of(Int row, Int columns, bool corner) { return corner ? row + 1 : columns; }

std::string load_sums(std::string_view source, Int rows, Int columns, bool corner, std::string_view stride = "n") {
    std::string text;
    for (Int r = 0; r < rows; ++r)
        text += declare("    real", width_of(r, columns, corner), [&](Int c) { return sum(r, c) + " = " + element(source, r, c, stride); });
    return text;
}
std::string store_sums(std::string_view target, Int rows, Int columns, std::string_view stride = "n") {
    std::string text;
    for (Int r = 0; r < rows; ++r)
        for (Int c = 0; c < columns; ++c) text += fmt::format("    {} = {};\n", element(target, r, c, stride), sum(r, c));
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

/// The C of one request. Pointers into blocks have rows that are n apart.
class Writer {
  public:
    explicit Writer(const ExportRequest& request)
        : n_(request.spec.block),
          tiling_(tiling_of(request)),
          ldlt_(request.factorization == Factorization::ldlt),
          signs_(has_signs(request.spec)),
          chains_(!exported_chains(request).empty()),
          tip_(tip_rows(request.spec)) {}

    std::string factorization() const {
        return section("solver.c", ldlt_ ? "ldlt" : "llt") + (signs_ ? "" : finish_block()) +
               for_sizes(n_, tiling_.columns,
                         [&](Int columns) { return solve_columns(columns, "solve_columns", n_, "n") + factor_corner(columns); }) +
               panel();
    }
    /// G over F, and the products with G.
    std::string border() const {
        std::string calls;
        const auto call = [&](Int columns) {
            const auto coupling = row_of("coupling", "j"), l = row_of("l", "j");
            if (!ldlt_) return fmt::format("reduce_panels_{}(g, before, width, {}, {}, g, j, 0);\n", columns, coupling, l);
            return fmt::format(
                "real multipliers[{0} * n];\n"
                "real own[{0} * n];\n"
                "scale_rows({1}, l - (width > 0 ? BLOCK : 0), {0}, width, 0, multipliers);\n"
                "scale_rows({2}, l, {0}, j, 1, own);\n"
                "reduce_panels_{0}(g, before, width, multipliers, own, g, j, 0);\n",
                columns, coupling, l);
        };
        return for_sizes(n_, tiling_.columns, [&](Int columns) { return solve_columns(columns, "reduce_panels", tip_, "TIP"); }) +
               product(tip_, "TIP") + from("shapes.c", "reduce_border", {{"REDUCE", indented(loop(n_, tiling_.columns, 'j', call), 4)}});
    }
    std::string sweeps() const {
        return for_sizes(n_, tiling_.sweep_rows, [&](Int rows) { return forward_rows(rows) + backward_rows(rows); }) + sweep_calls();
    }
    /// c -= a b', of which the lower triangle counts where the stride is the tip's.
    std::string product(Int count, std::string_view stride) const {
        const auto tile = [&](Int rows, Int columns) {
            const auto text =
                filled(section("partitioned.c", "product_tile"), {{"STRIDE", std::string(stride)},
                                                                  {"LOADS", load_sums("s", rows, columns, false, stride)},
                                                                  {"PRODUCTS", subtract_outer("u", "v", rows, columns, false)},
                                                                  {"STORES", store_sums("s", rows, columns, stride)}});
            return indented(text, -4);
        };
        const auto text = loop(count, tiling_.rows, 'r', [&](Int rows) {
            const auto end = stride == "TIP" ? fmt::format("r + {}", rows) : std::string();
            return loop(count, tiling_.columns, 'j', [&](Int columns) { return tile(rows, columns); }, "0", end);
        });
        return from("partitioned.c", "subtract_product", {{"TILES", indented(text, 4)}});
    }
    std::string vector_product() const {
        const auto calls = loop(n_, tiling_.sweep_rows, 'r', [](Int rows) {
            return fmt::format(
                "if (transposed) {{\n    subtract_columns_{0}(a + r, x + c, y + r * m + c);\n}} else {{\n    subtract_rows_{0}(a + r * n, "
                "x + c, y + r * m + c);\n}}\n",
                rows);
        });
        return for_sizes(n_, tiling_.sweep_rows, [&](Int rows) { return vector_rows(rows); }) +
               from("partitioned.c", "vector_product", {{"CALLS", indented(calls, 8)}});
    }

  private:
    /// Further parameters of a factorization: multipliers for ldlt. Chains need the diagonal entries that pivots began with,
    /// since a separator has had products subtracted.
    std::string parameters() const { return ldlt_ ? "const real* scaled, real* own, " : chains_ ? "const real* entries, " : ""; }
    std::string entries() const { return chains_ ? "entries" : "d"; }

    /// Finishes a tile's columns once all products with columns of earlier tiles are subtracted.
    std::string finish_tile(Int rows, Int columns) const {
        std::string text;
        for (Int c = 0; c < columns; ++c) {
            for (Int k = 0; k < c; ++k)
                for (Int r = 0; r < rows; ++r) text += fmt::format("    {} -= {} * {};\n", sum(r, c), sum(r, k), element("b", c, k));
            for (Int r = 0; r < rows && !ldlt_; ++r) text += fmt::format("    {} *= {};\n", sum(r, c), element("b", c, c));
        }
        return text + store_sums("y", rows, columns);
    }
    std::string solve_columns(Int columns, const std::string& name, Int count, const std::string& rows_name) const {
        const auto tile = [&](Int rows) {
            const auto text = filled(section("solver.c", "tile"), {{"LOADS", load_sums("s", rows, columns, false)},
                                                                   {"BEFORE", subtract_outer("a", "b", rows, columns, false)},
                                                                   {"OWN", subtract_outer("y", "b", rows, columns, false)},
                                                                   {"FINISH", finish_tile(rows, columns)}});
            return indented(text, -4);
        };
        return from(
            "solver.c", "solve_columns",
            {{"NAME", name},
             {"ROWS", rows_name},
             {"COLUMNS", fmt::format("{}", columns)},
             {"LAST", fmt::format("{}", columns - 1)},
             {"TILES", (count < tiling_.rows ? "    (void)first;\n" : "") + indented(loop(count, tiling_.rows, 'r', tile, "first"), 4)}});
    }

    /// Takes pivot k of a corner: scales its column below it, then subtracts that column's products.
    std::string take_pivot(Int k, Int columns) const {
        auto text = fmt::format("    if (!is_sound({}, {})) {{\n        return {};\n    }}\n", sum(k, k), element(entries(), k, k),
                                k > 0 ? fmt::format("j + {}", k) : "j");
        const auto reciprocal = fmt::format("reciprocal{}", k);
        text += fmt::format("    const real {} = 1 / {};\n", reciprocal, ldlt_ ? sum(k, k) : fmt::format("BTD_SQRT({})", sum(k, k)));
        text += fmt::format("    {} = {};\n", element("l", k, k), reciprocal);
        for (Int r = k + 1; r < columns; ++r) {
            if (!ldlt_) text += fmt::format("    {} *= {};\n", sum(r, k), reciprocal);
            text += fmt::format("    {} = {};\n", element("l", r, k), sum(r, k));
            if (ldlt_) text += fmt::format("    const real m{}{} = {} * {};\n", r, k, sum(r, k), reciprocal);
            if (ldlt_) text += fmt::format("    {} = m{}{};\n", element("own", r, k), r, k);
        }
        for (Int r = k + 1; r < columns; ++r)
            for (Int c = k + 1; c <= r; ++c) text += fmt::format("    {} -= {} * {}{}{};\n", sum(r, c), sum(r, k), ldlt_ ? 'm' : 'c', c, k);
        return text;
    }
    std::string factor_corner(Int columns) const {
        std::string finish;
        for (Int k = 0; k < columns; ++k) finish += take_pivot(k, columns);
        return from("solver.c", "factor_corner",
                    {{"COLUMNS", fmt::format("{}", columns)},
                     {"LAST", fmt::format("{}", columns - 1)},
                     {"PARAMETERS", parameters()},
                     {"NEXT_BEFORE", ldlt_ ? "        ++scaled;\n" : ""},
                     {"NEXT_OWN", ldlt_ ? "        ++own;\n" : ""},
                     {"LOADS", load_sums("d", columns, columns, true)},
                     {"BEFORE", subtract_outer("before", ldlt_ ? "scaled" : "before", columns, columns, true)},
                     {"OWN", subtract_outer("l", ldlt_ ? "own" : "l", columns, columns, true)},
                     {"FINISH", finish}});
    }

    /// Factors a block in place, from a given row on. Columns that are done already must not be done again: those before `row` in its
    /// corner's rows, and those before the corner in the rows below.
    std::string finish_block() const {
        const bool whole = n_ <= tiling_.columns;
        return from(
            "solver.c", "finish_block",
            {{"PARAMETERS", chains_ ? parameters() : ""},
             {"CORNER", whole ? "" : fmt::format("    const int corner = row - row % {0}, below = corner + {0};\n", tiling_.columns)},
             {"BREAK", chains_ ? "\n" + std::string(33, ' ') : " "},
             {"START", whole ? "row" : "r < below ? row : corner"},
             {"ENTRIES", entries()},
             {"BEFORE", ldlt_ ? "(before[c * n + k] * (l - BLOCK)[k * n + k])" : "before[c * n + k]"},
             {"OWN", ldlt_ ? "(l[c * n + k] * l[k * n + k])" : "l[c * n + k]"},
             {"SCALE", ldlt_ ? "" : " * l[c * n + c]"},
             {"ROOT", ldlt_ ? "sum" : "BTD_SQRT(sum)"}});
    }

    /// Factors `columns` columns from j on: their pivots, then the rows below them where there are any.
    std::string factor_call(Int columns, const std::string& j, bool rows_below) const {
        std::string text;
        const auto before = row_of("before", j), l = row_of("l", j), column = j == "0" ? "" : " + " + j;
        if (ldlt_) {
            text += fmt::format("real multipliers[{0} * n];\nreal own[{0} * n];\n", columns);
            text += fmt::format("scale_rows({}, l - (width > 0 ? BLOCK : 0), {}, width, 0, multipliers);\n", before, columns);
            text += fmt::format("scale_rows({}, l, {}, {}, 0, own);\n", l, columns, j);
        }
        const auto more = ldlt_ ? "multipliers, own, " : chains_ ? row_of("entries", j) + column + ", " : "";
        text += fmt::format("failed = factor_corner_{}({}{}, {}, width, {}{}, {});\n", columns, row_of("d", j), column, before, more, l, j);
        if (rows_below)
            text += fmt::format("if (failed < 0) {{\n    solve_columns_{}(d, before, width, {}, {}, l, {}, {});\n}}\n", columns,
                                ldlt_ ? "multipliers" : before, ldlt_ ? "own" : l, j,
                                j == "0" ? fmt::format("{}", columns) : fmt::format("{} + {}", j, columns));
        return text;
    }
    /// Solves for a panel's columns. With ldlt there are no chains, and so no block before a panel.
    std::string solve_call(Int columns, const std::string& j) const {
        if (!ldlt_)
            return fmt::format("solve_columns_{}(source, before, width, {}, {}, x, {}, 0);\n", columns, row_of("multipliers", j),
                               row_of("l", j), j);
        return fmt::format(
            "real own[{0} * n];\n"
            "scale_rows({1}, l, {0}, {2}, 1, own);\n"
            "solve_columns_{0}(source, before, 0, own, own, x, {2}, 0);\n",
            columns, row_of("l", j), j);
    }
    std::string panel() const {
        const auto width = tiling_.columns, rest = n_ % width, full = n_ - rest;
        std::string factor = "    int failed = -1;\n", solve = ldlt_ ? "    (void)multipliers;\n    (void)width;\n" : "";
        if (full > 0) {
            factor += fmt::format("    for (int j = 0; j < {} && failed < 0; j += {}) {{\n{}    }}\n", full, width,
                                  indented(factor_call(width, "j", n_ > width), 8));
            solve += fmt::format("    for (int j = 0; j < {}; j += {}) {{\n{}    }}\n", full, width, indented(solve_call(width, "j"), 8));
        }
        if (rest > 0) {
            const auto j = fmt::format("{}", full);
            factor += fmt::format("    if (failed < 0) {{\n{}    }}\n", indented(factor_call(rest, j, false), 8));
            solve += indented(solve_call(rest, j), 4);
        }
        return from("solver.c", "factor_block", {{"FACTOR", factor}, {"SOLVE", solve}, {"PARAMETERS", ldlt_ ? "" : parameters()}});
    }

    /// Subtracts all n products, or none where `width` is 0.
    std::string subtract_all(std::string_view x, std::string_view width, Int rows, bool transposed) const {
        const auto unroll = rows == n_ ? n_ : tiling_.sweep_rows, rest = n_ % unroll;
        const auto many = [&](Int count, int indent) { return subtract_many("a", x, rows, count, transposed, false, indent); };
        const auto where_wide = [&](Int count) {
            if (width == "n") return many(count, 4);
            return fmt::format("    if ({} > 0) {{\n{}    }}\n", width, many(count, 8));
        };
        if (unroll == n_) return where_wide(n_);
        const auto text = fmt::format("    for (int k = 0; k < {}; k += {}) {{\n{}        a += {};\n        {} += {} * m;\n    }}\n",
                                      rest > 0 ? fmt::format("{} - {}", width, rest) : width, unroll, many(unroll, 8),
                                      transposed ? fmt::format("{} * n", unroll) : fmt::format("{}", unroll), x, unroll);
        return rest > 0 ? text + where_wide(rest) : text;
    }

    std::string forward_rows(Int rows) const {
        const auto unroll = tiling_.sweep_rows;
        std::string own, finish;
        if (rows < n_)
            own = fmt::format("    for (int k = 0; k < r; k += {0}) {{\n{1}        l += {0};\n        y += {0} * m;\n    }}\n", unroll,
                              subtract_many("l", "y", rows, unroll, false, false, 8));
        for (Int r = 0; r < rows; ++r) {
            finish += fmt::format("    s{} *= {};\n", r, element("l", r, r));
            for (Int below = r + 1; below < rows; ++below)
                finish += fmt::format("    s{} -= {} * s{};\n", below, element("l", below, r), r);
        }
        return from("solver.c", "forward_rows",
                    {{"ROWS", fmt::format("{}", rows)},
                     {"ROW", rows < n_ ? ", int r" : ""},
                     {"LOADS", load_rows("b", rows)},
                     {"BEFORE", subtract_all("y_before", "width", rows, false)},
                     {"OWN", own},
                     {"FINISH", finish + store_rows("y", rows)}});
    }

    std::string backward_rows(Int rows) const {
        const auto unroll = tiling_.sweep_rows;
        const bool from_first = rows == n_ || rows < unroll;  // r is 0
        const std::string solved = from_first ? "x" : "solved", diagonal = from_first ? "l" : "diagonal";
        std::string loads = from_first ? "" : "    real* solved = x + r * m;\n", own, finish;
        loads += ldlt_ ? declare("    real", rows, [](Int r) { return fmt::format("s{} = 0", r); }) : load_rows(solved, rows);
        if (rows < n_)
            own = fmt::format(
                "    for (int k = n - {0}; k >= {1}{2}; k -= {0}) {{\n"
                "        const real* below = l + k * n;\n"
                "        const real* after = x + k * m;\n"
                "{3}    }}\n",
                unroll, from_first ? "" : "r + ", rows, subtract_many("below", "after", rows, unroll, true, true, 8));
        if (!from_first) own += "    const real* diagonal = l + r * n;\n";
        for (Int r = rows - 1; r >= 0; --r) {
            const auto reciprocal = element(diagonal, r, r);
            finish += ldlt_ ? fmt::format("    s{0} = {1} + s{0} * {2};\n", r, element(solved, r, 0, "m"), reciprocal)
                            : fmt::format("    s{} *= {};\n", r, reciprocal);
            for (Int above = r - 1; above >= 0; --above)
                finish += fmt::format("    s{} -= {} * s{};\n", above, element(diagonal, r, above), r);
        }
        return from("solver.c", "backward_rows",
                    {{"ROWS", fmt::format("{}", rows)},
                     {"ROW", from_first ? "" : ", int r"},
                     {"LOADS", loads},
                     {"BEFORE", subtract_all("x_next", "height", rows, true)},
                     {"OWN", own},
                     {"FINISH", finish + store_rows(solved, rows)}});
    }

    /// Rows that are left once whole numbers of rows are taken; a block that is taken at once is all left.
    std::string sweep_calls() const {
        const auto rows = tiling_.sweep_rows, full = n_ > rows ? n_ - n_ % rows : 0, rest = n_ - full;
        std::string forward, backward;
        const auto forward_call = [&](Int count, const std::string& r) {
            const auto right = r == "0" ? "b + c" : fmt::format("b + {} * m + c", r);
            // y of the rows is behind the r that the loop over L passes.
            return fmt::format("forward_rows_{}({}, {}, y_before + c, width, {}, y + c{});\n", count, row_of("l", r), row_of("a", r), right,
                               full == 0 ? "" : ", " + r);
        };
        if (full > 0) {
            forward =
                fmt::format("        for (int r = 0; r < {}; r += {}) {{\n            {}        }}\n", full, rows, forward_call(rows, "r"));
            backward = fmt::format(
                "        for (int r = n - {0}; r >= {1}; r -= {0}) {{\n            backward_rows_{0}(l + r, a + r, x_next + c, height, x + "
                "c, r);\n        }}\n",
                rows, rest);
        }
        if (rest > 0) {
            forward += "        " + forward_call(rest, fmt::format("{}", full));
            backward += fmt::format("        backward_rows_{}(l, a, x_next + c, height, x + c);\n", rest);
        }
        return from("solver.c", "sweeps", {{"FORWARD", forward}, {"BACKWARD", backward}});
    }

    std::string vector_rows(Int rows) const {
        return from("partitioned.c", "vector_rows",
                    {{"ROWS", fmt::format("{}", rows)},
                     {"LOADS", load_rows("y", rows)},
                     {"PRODUCTS", subtract_all("x", "n", rows, false)},
                     {"TRANSPOSED", subtract_all("x", "n", rows, true)},
                     {"STORES", store_rows("y", rows)}});
    }

    Int n_;
    Tiling tiling_;
    bool ldlt_, signs_, chains_;
    Int tip_;
};

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

std::string c99_factorization(const ExportRequest& request) { return Writer(request).factorization(); }

std::string c99_sweeps(const ExportRequest& request) {
    return "/* ---- sweeps: columns of a right-hand side, whose elements are m apart ---- */\n" + Writer(request).sweeps();
}

std::string c99_products(const ExportRequest& request) {
    return Writer(request).product(request.spec.block, "n") + Writer(request).vector_product();
}

std::string c99_border(const ExportRequest& request) { return Writer(request).border(); }

std::string c99_solution(const ExportRequest& request) {
    const auto& spec = request.spec;
    if (tip_rows(spec) > 0) return section("solver.c", "check_finite");
    const bool small =
        tiling_of(request).sweep_rows == spec.block && spec.block >= 4 && spec.block <= 6 && spec.horizon > 1 && spec.rhs == 1;
    if (!small) return section("solver.c", "check_finite") + "\n" + section("solver.c", "solve_blocks");
    std::string test;
    for (Int r = 0; r < spec.block; ++r) test += fmt::format("zero{} -= y[{}] * 0;\n", r % 4, r);
    return filled(section("solver.c", "solve_small_blocks"), {{"TEST", indented(test, 4)}, {"TEST_INSIDE", indented(test, 8)}});
}

}  // namespace trifold
