#include <fmt/format.h>

#include "generator/export/c99/parts.hpp"
#include "generator/export/c99/unrolled.hpp"
#include "generator/export/c99/unrolled_text.hpp"

namespace trifold {
namespace {

using namespace unrolled;

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

/// Subtracts all n products, or none where `width` is 0.
std::string subtract_all(Int n, const Tiling& tiling, std::string_view x, std::string_view width, Int rows, bool transposed) {
    const auto unroll = rows == n ? n : tiling.sweep_rows, rest = n % unroll;
    if (unroll == n && width == "n") return subtract_many("a", x, rows, n, transposed, false, 4);
    if (unroll == n) return fmt::format("    if ({} > 0) {{\n{}    }}\n", width, subtract_many("a", x, rows, n, transposed, false, 8));
    auto text = fmt::format("    for (int k = 0; k < {}; k += {}) {{\n{}        a += {};\n        {} += {} * m;\n    }}\n",
                            rest > 0 ? fmt::format("{} - {}", width, rest) : width, unroll,
                            subtract_many("a", x, rows, unroll, transposed, false, 8),
                            transposed ? fmt::format("{} * n", unroll) : fmt::format("{}", unroll), x, unroll);
    if (rest > 0 && width == "n") return text + subtract_many("a", x, rows, rest, transposed, false, 4);
    if (rest > 0) text += fmt::format("    if ({} > 0) {{\n{}    }}\n", width, subtract_many("a", x, rows, rest, transposed, false, 8));
    return text;
}

std::string forward_rows(Int n, const Tiling& tiling, Int rows) {
    const auto unroll = tiling.sweep_rows;
    std::string own, finish;
    if (rows < n)
        own = fmt::format("    for (int k = 0; k < r; k += {0}) {{\n{1}        l += {0};\n        y += {0} * m;\n    }}\n", unroll,
                          subtract_many("l", "y", rows, unroll, false, false, 8));
    for (Int r = 0; r < rows; ++r) {
        finish += fmt::format("    s{} *= {};\n", r, element("l", r, r));
        for (Int below = r + 1; below < rows; ++below) finish += fmt::format("    s{} -= {} * s{};\n", below, element("l", below, r), r);
    }
    for (Int r = 0; r < rows; ++r) finish += fmt::format("    {} = s{};\n", element("y", r, 0, "m"), r);
    return from("solver.c", "forward_rows",
                {{"ROWS", fmt::format("{}", rows)},
                 {"ROW", rows < n ? ", int r" : ""},
                 {"LOADS", declare("    real", rows, [](Int r) { return fmt::format("s{} = {}", r, element("b", r, 0, "m")); })},
                 {"BEFORE", subtract_all(n, tiling, "y_before", "width", rows, false)},
                 {"OWN", own},
                 {"FINISH", finish}});
}

std::string backward_rows(Int n, const Tiling& tiling, Int rows, bool ldlt) {
    const auto unroll = tiling.sweep_rows;
    const bool from_first = rows == n || rows < unroll;  // r is 0
    const std::string solved = from_first ? "x" : "solved", diagonal = from_first ? "l" : "diagonal";
    std::string loads = from_first ? "" : "    real* solved = x + r * m;\n", own, finish;
    loads += declare("    real", rows, [&](Int r) { return fmt::format("s{} = {}", r, ldlt ? "0" : element(solved, r, 0, "m")); });
    if (rows < n)
        own = fmt::format(
            "    for (int k = n - {0}; k >= {1}{2}; k -= {0}) {{\n"
            "        const real* below = l + k * n;\n"
            "        const real* after = x + k * m;\n"
            "{3}    }}\n",
            unroll, from_first ? "" : "r + ", rows, subtract_many("below", "after", rows, unroll, true, true, 8));
    if (!from_first) own += "    const real* diagonal = l + r * n;\n";
    for (Int r = rows - 1; r >= 0; --r) {
        const auto reciprocal = element(diagonal, r, r);
        finish += ldlt ? fmt::format("    s{0} = {1} + s{0} * {2};\n", r, element(solved, r, 0, "m"), reciprocal)
                       : fmt::format("    s{} *= {};\n", r, reciprocal);
        for (Int above = r - 1; above >= 0; --above) finish += fmt::format("    s{} -= {} * s{};\n", above, element(diagonal, r, above), r);
    }
    for (Int r = 0; r < rows; ++r) finish += fmt::format("    {} = s{};\n", element(solved, r, 0, "m"), r);
    return from("solver.c", "backward_rows",
                {{"ROWS", fmt::format("{}", rows)},
                 {"ROW", from_first ? "" : ", int r"},
                 {"LOADS", loads},
                 {"BEFORE", subtract_all(n, tiling, "x_next", "height", rows, true)},
                 {"OWN", own},
                 {"FINISH", finish}});
}

std::string sweeps(Int n, const Tiling& tiling) {
    const auto rows = tiling.sweep_rows, rest = n % rows, full = n - rest;
    std::string forward, backward;
    const auto forward_call = [](Int count, const std::string& r, bool whole) {
        const auto right = r == "0" ? "b + c" : fmt::format("b + {} * m + c", r);
        return fmt::format("forward_rows_{}({}, {}, y_before + c, width, {}, y + c{});\n", count, row_of("l", r), row_of("a", r), right,
                           whole ? "" : ", " + r);
    };
    // y of the rows is behind the r that the loop over L passes.
    if (n == rows) {
        forward = "        " + forward_call(n, "0", true);
        backward = fmt::format("        backward_rows_{}(l, a, x_next + c, height, x + c);\n", n);
    } else {
        if (full > 0) {
            forward = fmt::format("        for (int r = 0; r < {}; r += {}) {{\n            {}        }}\n", full, rows,
                                  forward_call(rows, "r", false));
            backward = fmt::format(
                "        for (int r = n - {0}; r >= {1}; r -= {0}) {{\n            backward_rows_{0}(l + r, a + r, x_next + c, height, x + "
                "c, r);\n        }}\n",
                rows, rest);
        }
        if (rest > 0) {
            forward += "        " + forward_call(rest, fmt::format("{}", full), full == 0);
            backward += fmt::format("        backward_rows_{}(l, a, x_next + c, height, x + c);\n", rest);
        }
    }
    return from("solver.c", "sweeps", {{"FORWARD", forward}, {"BACKWARD", backward}});
}

std::string vector_rows(Int n, const Tiling& tiling, Int rows) {
    const auto one = [&](bool transposed) { return subtract_all(n, tiling, "x", "n", rows, transposed); };
    std::string stores;
    for (Int r = 0; r < rows; ++r) stores += fmt::format("    {} = s{};\n", element("y", r, 0, "m"), r);
    return from("partitioned.c", "vector_rows",
                {{"ROWS", fmt::format("{}", rows)},
                 {"LOADS", declare("    real", rows, [](Int r) { return fmt::format("s{} = {}", r, element("y", r, 0, "m")); })},
                 {"PRODUCTS", one(false)},
                 {"TRANSPOSED", one(true)},
                 {"STORES", stores}});
}

std::string vector_product(Int n, const Tiling& tiling) {
    const auto calls = loop(n, tiling.sweep_rows, 'r', [](Int rows) {
        return fmt::format(
            "if (transposed) {{\n    subtract_columns_{0}(a + r, x + c, y + r * m + c);\n}} else {{\n    subtract_rows_{0}(a + r * n, x + "
            "c, y + r * m + c);\n}}\n",
            rows);
    });
    return from("partitioned.c", "vector_product", {{"CALLS", indented(calls, 8)}});
}

}  // namespace

std::string c99_sweeps(const ExportRequest& request) {
    const auto n = request.spec.block;
    const auto tiling = tiling_of(request);
    return "/* ---- sweeps: columns of a right-hand side, whose elements are m apart ---- */\n" +
           for_sizes(n, tiling.sweep_rows,
                     [&](Int rows) {
                         return forward_rows(n, tiling, rows) +
                                backward_rows(n, tiling, rows, request.factorization == Factorization::ldlt);
                     }) +
           sweeps(n, tiling);
}

std::string c99_solution(const ExportRequest& request) {
    const auto& spec = request.spec;
    const bool small =
        tiling_of(request).sweep_rows == spec.block && spec.block >= 4 && spec.block <= 6 && spec.horizon > 1 && spec.rhs == 1;
    if (!small) return section("solver.c", "check_finite") + "\n" + section("solver.c", "solve_blocks");
    std::string test;
    for (Int r = 0; r < spec.block; ++r) test += fmt::format("zero{} -= y[{}] * 0;\n", r % 4, r);
    return filled(section("solver.c", "solve_small_blocks"), {{"TEST", indented(test, 4)}, {"TEST_INSIDE", indented(test, 8)}});
}

std::string c99_vector_products(const ExportRequest& request) {
    const auto n = request.spec.block;
    const auto tiling = tiling_of(request);
    return for_sizes(n, tiling.sweep_rows, [&](Int rows) { return vector_rows(n, tiling, rows); }) + vector_product(n, tiling);
}

}  // namespace trifold
