#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "generator/export/c99/parts.hpp"

namespace trifold {
namespace {

/// Shortest text that reads back as the same number, as a C literal of the precision.
std::string literal(double value, Precision precision) {
    const bool single = precision == Precision::f32;
    if (!(std::fabs(value) <= largest_finite(precision))) value = 0;
    auto text = single ? fmt::format("{}", static_cast<float>(value)) : fmt::format("{}", value);
    if (text.find_first_of(".e") == std::string::npos) text += ".0";
    return single ? text + "f" : text;
}

constexpr std::string_view extents[] = {"BTD_D_SIZE", "BTD_E_SIZE", "BTD_HORIZON * BTD_BLOCK * BTD_RHS"};

/// Dense, row-major blocks as the caller's array holds them.
std::vector<double> placed(std::span<const double> blocks, std::int64_t n, const Strides& strides) {
    std::vector<double> result(blocks.size());
    for (std::int64_t k = 0; k < std::ssize(blocks); ++k) {
        const auto i = k / (n * n), r = k / n % n, c = k % n;
        result[static_cast<std::size_t>(i * strides.stage + r * strides.row + c * strides.column)] = blocks[static_cast<std::size_t>(k)];
    }
    return result;
}

/// Sections of example.c for what the Spec has of a border, a ring and sizes.
std::string shape_sections(const Spec& spec, std::string_view border, std::string_view ring, std::string_view sizes) {
    std::string text;
    for (const auto& [has, name] : {std::pair{spec.border > 0, border}, {spec.ring, ring}, {spec.sizes, sizes}})
        if (has && !name.empty()) text += section("example.c", name);
    return text;
}

/// Text with the problem that the example and the report solve.
std::string problem(const ExportRequest& request) {
    if (request.prefactored || request.data) return section("example.c", request.prefactored ? "given_matrix" : "given_problem");
    const auto& spec = request.spec;
    std::string fields, arrays = shape_sections(spec, "made_up_border", "", "made_up_sizes");
    if (spec.border > 0) fields = ".f = f, .c = corner";
    if (spec.sizes) fields += fmt::format("{}.sizes = sizes", fields.empty() ? "" : ", ");
    if (!fields.empty()) arrays += fmt::format("static const btd_shape shape = {{{}}};\n\n", fields);
    const auto dominant = fmt::format("3 * BTD_BLOCK + {}", spec.border + 1);
    if (is_general(spec)) arrays += "static btd_real u[BTD_E_SIZE];\n\n";
    return arrays + filled(section("example.c", "made_up_problem"),
                           {{"MIRROR", is_general(spec) ? "random_number()" : "d[BTD_D(i, r, c)]"},
                            {"MAKE_U", is_general(spec) ? "                u[BTD_E(i, r, c)] = random_number();\n" : ""},
                            {"MORE", spec.ring ? "" : " + 1"},
                            {"DIAGONAL", has_inertia(spec) ? fmt::format("r % 2 == 0 ? {0} : -({0})", dominant) : dominant},
                            {"MAKE_SHAPE", shape_sections(spec, "make_border", "", "make_sizes")}});
}

/// Text with the test of X.
std::string check(const Spec& spec) {
    const auto terms = shape_sections(spec, "border_terms", "ring_terms", "");
    if (terms.empty() && !spec.sizes) return check_of_chain(spec);
    const auto row = terms.empty() ? "" : filled(section("example.c", "shape_row"), {{"TERMS", terms}}) + "\n";
    const std::string skip =
        "        if (row < BTD_HORIZON * BTD_BLOCK && (int)(row % BTD_BLOCK) >= sizes[row / BTD_BLOCK]) {\n            continue;\n        "
        "}\n";
    return multiply_row(spec) + "\n" + row +
           filled(section("example.c", "check"),
                  {{"ROWS", "SIZE / BTD_RHS"},
                   {"SKIP", spec.sizes ? skip : ""},
                   {"AX", terms.empty() ? "multiply_row(d_, e_, x_ + c, shift, row / BTD_BLOCK, row % BTD_BLOCK"
                                        : "shape_row(d_, e_, x_ + c, shift, row"}});
}

/// The section of the calls that there are.
std::string_view calls(const ExportRequest& request) { return request.prefactored ? "prefactored" : "solver"; }

std::string size_of_x(const Spec& spec) {
    const auto tip = spec.border > 0 ? " + BTD_BORDER * BTD_RHS" : "";
    return fmt::format("enum {{ SIZE = BTD_HORIZON * BTD_BLOCK * BTD_RHS{} }};\n\n", tip);
}

}  // namespace

double largest_finite(Precision precision) {
    return precision == Precision::f32 ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
}

double nearly_zero(Precision precision) {
    const double epsilon = precision == Precision::f32 ? std::numeric_limits<float>::epsilon() : std::numeric_limits<double>::epsilon();
    return 64 * epsilon;
}

std::string c99_values(std::span<const double> values, Precision precision) {
    std::string text = "{";
    constexpr std::size_t per_line = 8;
    for (std::size_t k = 0; k < values.size(); ++k)
        text += fmt::format("{}{}{}", k % per_line == 0 ? "\n    " : " ", literal(values[k], precision), k + 1 < values.size() ? "," : "");
    return text + (values.empty() ? "0}" : "\n}");
}

std::string c99_data_declarations(const ExportRequest& request) {
    std::string text = "\n/* The problem of btd_data.c. */\n";
    for (std::size_t k = 0; k < (request.prefactored ? 2 : 3); ++k)
        text += fmt::format("extern const btd_real btd_data_{}[{}];\n", "deb"[k], extents[k]);
    return text;
}

std::string c99_data(const ExportRequest& request) {
    std::string text = "/* A problem, baked in: see btd_solver.h. */\n#include \"btd_solver.h\"\n";
    const auto add = [&](std::size_t k, std::span<const double> values) {
        text += fmt::format("\nconst btd_real btd_data_{}[{}] = {};\n", "deb"[k], extents[k], c99_values(values, request.spec.precision));
    };
    const auto& spec = request.spec;
    add(0, placed(request.prefactored ? request.prefactored->d : request.data->d, spec.block, diagonal_strides(spec)));
    add(1, placed(request.prefactored ? request.prefactored->e : request.data->e, spec.block, coupling_strides(spec)));
    if (request.data) add(2, request.data->b);
    return text;
}

std::string c99_example(const ExportRequest& request) {
    const bool single = request.spec.precision == Precision::f32;
    return fmt::format(
        "/* Solves a problem, checks X in double precision, and prints a checksum of its bits. */\n"
        "#include <math.h>\n"
        "#include <stdint.h>\n"
        "#include <stdio.h>\n"
        "#include <string.h>\n\n"
        "#include \"btd_solver.h\"\n\n"
        "typedef {} btd_bits;\n"
        "static const double tolerance = {};\n"
        "{}{}\n{}\n{}",
        single ? "uint32_t" : "uint64_t", single ? "1e-5" : "1e-14", size_of_x(request.spec), problem(request),
        filled(section("example.c", request.corrections > 0 ? "refined" : calls(request)), shape_words(request)),
        check(request.spec) + "\n" + section("example.c", "main"));
}

std::string c99_report(const ExportRequest& request) {
    const auto& machine = machine_of(request.target);
    const auto facts = export_facts(request);
    const auto factor = request.prefactored ? "" : fmt::format("#define FACTOR_FLOPS {}\n", facts.factor_flops);
    return fmt::format(
        "/* Counts the instructions of each call, and prints them as JSON beside its flops: see `make report`. */\n"
        "#include <stdint.h>\n"
        "#include <stdio.h>\n"
        "#include <stdlib.h>\n\n"
        "#include \"btd_solver.h\"\n\n"
        "#define TARGET \"{}\"\n"
        "{}#define SOLVE_FLOPS {}\n"
        "#ifndef FLAGS\n"
        "#define FLAGS \"\"\n"
        "#endif\n\n"
        "{}{}\n{}\n{}\n{}",
        to_string(request.target), factor, facts.solve_flops, size_of_x(request.spec), problem(request),
        filled(section("report.c", calls(request)), shape_words(request)), section("report.c", "print"),
        section("report.c", machine.report));
}

}  // namespace trifold
