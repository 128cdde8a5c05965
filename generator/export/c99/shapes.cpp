#include <fmt/format.h>

#include <trifold/error.hpp>

#include "generator/export/c99/parts.hpp"

namespace trifold {
namespace {

/// A section behind an empty line.
std::string from(std::string_view name) { return "\n" + section("shapes.c", name); }

bool takes_shape(const Spec& spec) { return spec.border > 0 || spec.sizes; }

/// Members of the workspace that a chain does not have.
std::string memory(const ExportRequest& request) {
    const auto& spec = request.spec;
    if (has_signs(spec)) return section("solver.h", "signs");
    if (!has_shape(spec)) return "";
    auto text = section("solver.h", "shape_diagonal");
    if (tip_rows(spec) > 0) text += section("solver.h", "shape_tip");
    if (tip_rows(spec) > 0 && request.factorization == Factorization::ldlt) text += section("solver.h", "shape_scaled");
    return text + (spec.sizes ? section("solver.h", "shape_sizes") : "");
}

std::string type(const Spec& spec) {
    if (!takes_shape(spec)) return "";
    return fmt::format("\n/* Further arguments of a factorization. */\ntypedef struct {{\n{}{}}} btd_shape;\n",
                       spec.border > 0 ? section("solver.h", "shape_border_input") : "",
                       spec.sizes ? section("solver.h", "shape_sizes_input") : "");
}

/// Statements of btd_factor before the chain is factored.
std::string load(const Spec& spec) {
    std::string text;
    if (spec.sizes)
        text +=
            "    const int odd = load_sizes(workspace, shape->sizes);\n"
            "    if (odd >= 0) {\n"
            "        return keep(workspace, outcome(BTD_NO_SUCH_SIZE, odd, -1), l, r);\n"
            "    }\n";
    if (chain_blocks(spec) < spec.horizon) text += "    load_ring(workspace, d, e);\n";
    if (spec.border > 0) text += "    load_border(workspace, shape->f, shape->c);\n";
    return text;
}

}  // namespace

bool has_shape(const Spec& spec) { return spec.ring || spec.border > 0 || spec.sizes; }
std::int64_t chain_blocks(const Spec& spec) { return spec.ring && spec.horizon > 1 ? spec.horizon - 1 : spec.horizon; }
std::int64_t tip_rows(const Spec& spec) { return (spec.horizon - chain_blocks(spec)) * spec.block + spec.border; }
std::int64_t x_elements(const Spec& spec) { return (spec.horizon * spec.block + spec.border) * spec.rhs; }

std::string shape_text(const Spec& spec) {
    std::string text;
    if (spec.ring) text += " closed to a ring";
    if (spec.border > 0) text += fmt::format("{} with a border of {} row(s)", spec.ring ? "," : "", spec.border);
    if (spec.sizes) text += fmt::format("{} whose blocks have sizes of their own", spec.border > 0 ? "," : "");
    return text;
}

Values shape_words(const ExportRequest& request) {
    const auto& spec = request.spec;
    const bool takes = takes_shape(spec), general = is_general(spec);
    const auto parameter = [&](int indent) {
        return takes     ? fmt::format(",\n{:{}}const btd_shape* shape", "", indent)
               : general ? fmt::format(",\n{:{}}const btd_real* u", "", indent)
                         : "";
    };
    std::string arrays;
    if (spec.ring) arrays += "\n * The last block of E couples block N - 1 (columns) to block 0 (rows). Where N is 1, A is D + E + E'.";
    if (spec.border > 0)
        arrays += "\n * B and X have the a rows of the border behind: they are [N n + a][m]. In a status these are block N.";
    if (general) arrays += "\n * U is as E: block i couples block i + 1 (columns) to block i (rows).";
    const std::string chain = chain_blocks(spec) < spec.horizon ? "(BTD_HORIZON - 1)" : "BTD_HORIZON";
    return {{"CHAIN", chain},
            {"WORKSPACE", tip_rows(spec) > 0 ? "const btd_workspace* workspace, " : ""},
            {"SOLVE_TIP", tip_rows(spec) > 0 ? "    solve_tip(workspace, x - AHEAD);\n" : ""},
            {"BACK", tip_rows(spec) > 0 ? " - AHEAD" : ""},
            {"TIP_SIZE", spec.border > 0 ? " + BTD_BORDER * BTD_RHS" : ""},
            {"SHAPE_WORDS", has_shape(spec) ? fmt::format("\n * It is a chain{}.", shape_text(spec)) : ""},
            {"SHAPE_README", has_shape(spec) ? fmt::format(" It is a chain{}; the header says how the arrays lie.", shape_text(spec)) : ""},
            {"REFACTOR_README",
             has_shape(spec) ? "A" : "`btd_refactor` factors in place, over D and E, and leaves the\nworkspace's arrays alone; a"},
            {"SIZE_STATUS", spec.sizes ? ",\n    /* The size of this block is not 0 to n. */\n    BTD_NO_SUCH_SIZE = 6" : ""},
            {"SHAPE_MEMORY", filled(memory(request), {{"CHAIN", chain}})},
            {"KEEPS", has_signs(spec) ? "workspace, " : ""},
            {"MOST_GROWTH", is_single(spec) ? "32768" : "268435456"},
            {"E_COUNT", spec.ring ? "N" : "N - 1"},
            {"SHAPE_ARRAYS", arrays},
            {"SHAPE_TYPE", type(spec)},
            {"FACTOR_DECLARED", parameter(22)},
            {"FACTOR_DEFINED", parameter(31)},
            {"FACTOR_SOLVE_DECLARED", parameter(28)},
            {"FACTOR_SOLVE_DEFINED", parameter(37)},
            {"GIVEN_SHAPE", takes     ? ", shape"
                            : general ? ", u"
                                      : ""},
            {"SHAPE_ARGUMENT", takes     ? ", &shape"
                               : general ? ", u"
                                         : ""}};
}

std::string shape_macros(const Spec& spec) {
    if (!has_shape(spec)) return "";
    return fmt::format(
        "/* Rows a of the border; rows of what all blocks of the chain may be coupled to: block 0 of a ring, and the border. */\n"
        "#define BTD_BORDER {}\n"
        "#define BTD_TIP {}\n\n",
        spec.border, tip_rows(spec));
}

std::string c99_shaped_system(const ExportRequest& request) {
    const auto& spec = request.spec;
    const bool ldlt = request.factorization == Factorization::ldlt, has_tip = tip_rows(spec) > 0,
               is_open = chain_blocks(spec) < spec.horizon;
    const bool is_single = spec.ring && !is_open, in_place = has_dense_blocks(spec), copies = !is_single && (spec.sizes || !in_place);
    auto text = from("shape") + from(spec.sizes ? "rows_of_sizes" : "rows_of");
    if (copies) text += from("load_blocks");
    if (is_single) text += from("close_ring");
    text += from("factor_chain");
    if (is_open) text += from("load_ring");
    if (spec.border > 0) text += from("load_border");
    if (spec.sizes) text += from("load_sizes");
    text += from("load_right");
    if (has_tip) text += c99_border(request) + from("factor_tip") + from("solve_tip") + "\n" + section("solver.c", "solve_blocks");
    return filled(
        text + from("shaped"),
        {{"DIAGONAL", is_single ? "close_ring(workspace, d, e)"
                      : copies  ? "load_diagonal(workspace, d, i)"
                                : "d + (FIRST + i) * BLOCK"},
         {"COUPLING", copies ? "load_coupling(workspace, e, i)" : "e + (FIRST + i) * BLOCK"},
         {"WHOLE_DIAGONAL", in_place ? "    if (rows == n) {\n        return d + (FIRST + i) * BLOCK;\n    }\n" : ""},
         {"WHOLE_COUPLING", in_place ? "    if (rows == n && columns == n) {\n        return e + (FIRST + i) * BLOCK;\n    }\n" : ""},
         {"SOLVE",
          fmt::format("solve_blocks({}workspace->diagonal, workspace->coupling, x + AHEAD, x + AHEAD)", has_tip ? "workspace, " : "")},
         {"LOAD", load(spec)},
         {"FACTOR", has_tip ? "factor_tip(workspace, factor_chain(workspace, d, e))" : "factor_chain(workspace, d, e)"},
         {"GG", ldlt ? "G P^-1 G'" : "G G'"},
         {"PRODUCT", ldlt ? "        scale_rows(g, l, TIP, n, 0, workspace->scaled);\n        subtract_product(s, g, workspace->scaled);\n"
                          : "        subtract_product(s, g, g);\n"},
         {"START", ldlt ? "0" : "y[(i * n + k) * m + c]"},
         {"FINISH", ldlt ? "y[(i * n + k) * m + c] + sum * workspace->own_diagonal[i * BLOCK + k * n + k]" : "sum"}});
}

}  // namespace trifold
