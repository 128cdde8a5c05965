#include <fmt/format.h>
#include <fmt/ranges.h>

#include "generator/export/c99/parts.hpp"

namespace trifold {
namespace {

/// Rules of the Makefile that count instructions.
std::string report_rules(const Machine& machine) {
    if (!machine.has_report()) return "";
    return section("Makefile", "report") + section("Makefile", machine.report);
}

/// The section of README.md that says what C the source is.
std::string_view dialect(const ExportRequest& request) {
    if (request.prefactored) return "tables";
    if (!exported_chains(request).empty()) return "partitioned";
    return uses_kernels(request) ? "kernels" : "plain";
}

Values sizes_and_costs(const ExportRequest& request) {
    const auto facts = export_facts(request);
    auto values = common_values(request.spec, to_string(request.target), facts.command);
    for (const auto& [key, number] : {std::pair{"TABLES", facts.table_bytes},
                                      {"WORKSPACE_32", facts.workspace_bytes_32},
                                      {"WORKSPACE_64", facts.workspace_bytes_64},
                                      {"STACK", facts.stack_bytes},
                                      {"CODE", facts.code_bytes},
                                      {"FACTOR_FLOPS", facts.factor_flops},
                                      {"SOLVE_FLOPS", facts.solve_flops}})
        values[key] = fmt::format("{}", number);
    const bool has_border = request.spec.border > 0;
    values["BORDER_MEMORY"] = has_border ? fmt::format("\n *   The border: F {} bytes, C {}.", facts.border_bytes, facts.corner_bytes) : "";
    values["BORDER_ROWS"] = has_border ? fmt::format("| F | {} |\n| C | {} |\n", facts.border_bytes, facts.corner_bytes) : "";
    return values;
}

Values how_to_build(const ExportRequest& request) {
    const auto& machine = machine_of(request.target);
    const bool bare = machine.is_cortex_m();
    std::string sources = "btd_solver.c", objects = "example_main.o btd_solver.o";
    const auto add = [&](const std::string& name) { sources += " " + name + ".c", objects += " " + name + ".o"; };
    if (request.corrections > 0) add("btd_refine");
    if (request.prefactored) add("btd_factors");
    if (request.prefactored || request.data) add("btd_data");
    if (bare) objects += " startup_cortex_m.o";
    const std::string_view counted = request.prefactored ? "of a solve" : "of a factorization and a solve";
    return {{"COMPILER", std::string(machine.compiler)},
            {"MACHINE", flags_of(request)},
            {"LINK", std::string(machine.link)},
            {"RUN", std::string(machine.run)},
            {"SIZE", std::string(machine.size)},
            {"CONTRACT", std::string(machine.contract)},
            {"SOURCES", sources},
            {"OBJECTS", objects},
            {"CALLS", request.prefactored ? "solve" : "factor solve"},
            {"REPORT_HELP", machine.has_report() ? fmt::format("# make report    counts instructions {}: report.json\n", counted) : ""},
            {"REPORT_README",
             machine.has_report() ? fmt::format("    make report       # counts the instructions {}: report.json\n", counted) : ""},
            {"RUNS_ON", bare ? ", for a board that QEMU emulates" : ""},
            {"STANDARD", uses_kernels(request) ? "11" : "99"},
            {"EXTENSIONS", uses_kernels(request) ? "ON" : "OFF"},
            {"ARCHITECTURE", uses_kernels(request) ? flags_of(request).substr(std::string_view("-std=gnu11").size()) : ""}};
}

}  // namespace

Values project_values(const ExportRequest& request) {
    auto values = sizes_and_costs(request);
    values.merge(how_to_build(request));
    const bool tables = request.prefactored.has_value();
    if (tables) values["SHIFTS"] = fmt::format("{}", fmt::join(request.prefactored->shifts, ", "));
    values["PURPOSE"] = tables ? "Solves" : "Factors and solves";
    values["FILES"] = tables                    ? "`btd_solver.h`, `btd_solver.c` and `btd_factors.c`"
                      : request.corrections > 0 ? "`btd_solver.h`, `btd_solver.c` and `btd_refine.c`"
                                                : "`btd_solver.h` and `btd_solver.c`";
    values["DENORMAL_PIVOTS"] = tables ? "" : ", and refuses a pivot that is denormal";
    values["SCHEDULE"] = request.schedule;
    values["CHAINS"] = fmt::format("{}", exported_chains(request).size());
    values.merge(factor_words(request));
    values.merge(shape_words(request));
    values["SQUARE_ROOT"] =
        has_square_roots(request) ? " but the square root, which `BTD_SQRT(x)` on the compiler's command line replaces" : "";
    const bool refines = request.corrections > 0;
    values["REFINE_RULE"] = refines ? "\n# Its sums rely on each rounding.\nbtd_refine.o: override CONTRACT = off\n" : "";
    values["REFINE_OPTIONS"] =
        refines ? "    set_source_files_properties(btd_refine.c PROPERTIES COMPILE_OPTIONS -ffp-contract=off)\n" : "";
    values["CORRECTIONS"] = fmt::format("{}", request.corrections);
    values["FUSED_FLOPS"] = fmt::format("{}", correction_flops(request, true));
    values["SPLIT_FLOPS"] = fmt::format("{}", correction_flops(request, false));
    values["REFINE"] = refines ? filled(section("README.md", "refine"), values) : "";
    values["DIALECT"] = filled(section("README.md", dialect(request)), values);
    values["REPORT"] = filled(report_rules(machine_of(request.target)), values);
    values["USE"] = filled(section("README.md", tables ? "prefactored" : "solver"), values);
    return values;
}

std::vector<ExportedFile> build_files(const ExportRequest& request) {
    const auto values = project_values(request);
    std::vector<ExportedFile> files{{"CMakeLists.txt", filled(section("CMakeLists.txt"), values)},
                                    {"Makefile", filled(section("Makefile", "makefile"), values)},
                                    {"README.md", filled(section("README.md", "readme"), values)}};
    if (machine_of(request.target).is_cortex_m()) {
        for (const std::string name : {"startup_cortex_m.c", "cortex_m.ld"}) files.push_back({name, section(name)});
    }
    return files;
}

}  // namespace trifold
