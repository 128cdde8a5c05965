#include <fmt/format.h>

#include <span>

#include "generator/backend.hpp"
#include "generator/export_parts.hpp"

namespace trifold {
namespace {

/// Shortest text that reads back as the same number, as a C literal of the precision.
std::string literal(double value, bool single) {
    auto text = single ? fmt::format("{}", static_cast<float>(value)) : fmt::format("{}", value);
    if (text.find_first_of(".e") == std::string::npos) text += ".0";
    return single ? text + "f" : text;
}

std::string array(std::string_view name, std::string_view extent, std::span<const double> values, bool single) {
    auto text = fmt::format("const btd_real btd_data_{}[{}] = {{", name, extent);
    constexpr std::size_t per_line = 8;
    for (std::size_t k = 0; k < values.size(); ++k)
        text += fmt::format("{}{}{}", k % per_line == 0 ? "\n    " : " ", literal(values[k], single), k + 1 < values.size() ? "," : "");
    text += values.empty() ? "0" : "\n";
    return text + "};\n";
}

constexpr std::string_view extents[] = {"BTD_HORIZON * BTD_BLOCK * BTD_BLOCK", "BTD_COUPLINGS * BTD_BLOCK * BTD_BLOCK",
                                        "BTD_HORIZON * BTD_BLOCK * BTD_RHS"};

std::string problem(const ExportRequest& request) {
    return std::string(template_text(request.data ? "c99/example_data.c" : "c99/example_problem.c"));
}

constexpr std::string_view size_of_x = "enum { SIZE = BTD_HORIZON * BTD_BLOCK * BTD_RHS };\n\n";

}  // namespace

std::string c99_data_declarations() {
    return fmt::format(
        "\n/* The problem of btd_data.c. */\n"
        "extern const btd_real btd_data_d[{}];\n"
        "extern const btd_real btd_data_e[{}];\n"
        "extern const btd_real btd_data_b[{}];\n",
        extents[0], extents[1], extents[2]);
}

std::string c99_data(const ExportRequest& request) {
    const bool single = request.spec.precision == Precision::f32;
    return "/* A problem, baked in: see btd_solver.h. */\n#include \"btd_solver.h\"\n\n" + array("d", extents[0], request.data->d, single) +
           "\n" + array("e", extents[1], request.data->e, single) + "\n" + array("b", extents[2], request.data->b, single);
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
        "{}{}\n{}",
        single ? "uint32_t" : "uint64_t", single ? "1e-5" : "1e-14", size_of_x, problem(request), template_text("c99/example_main.c"));
}

std::string c99_report(const ExportRequest& request) {
    const auto& machine = machine_of(request.target);
    const auto facts = export_facts(request);
    return fmt::format(
        "/* Counts the instructions of a factorization and of a solve, and prints them as JSON beside their flops: see `make report`. */\n"
        "#include <stdint.h>\n"
        "#include <stdio.h>\n"
        "#include <stdlib.h>\n\n"
        "#include \"btd_solver.h\"\n\n"
        "#define TARGET \"{}\"\n"
        "#define FACTOR_FLOPS {}\n"
        "#define SOLVE_FLOPS {}\n"
        "#ifndef FLAGS\n"
        "#define FLAGS \"\"\n"
        "#endif\n\n"
        "{}{}\n{}\n{}",
        to_string(request.target), facts.factor_flops, facts.solve_flops, size_of_x, problem(request), template_text("c99/report_main.c"),
        template_text(fmt::format("c99/report_{}.c", machine.report)));
}

}  // namespace trifold
