// Exported texts as such: nothing in them is left to fill in.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <map>
#include <regex>
#include <sstream>

#include "generator/export/c99/parts.hpp"
#include "generator/export/gpu/export.hpp"
#include "generator/program/templates.hpp"
#include "tests/export/c99/project.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

void check_filled(const std::vector<ExportedFile>& files) {
    static const std::regex mark("@[A-Z_0-9]+@");
    CHECK(files.size() > 4);
    for (const auto& file : files) {
        INFO(file.name);
        CHECK(!std::regex_search(file.text, mark));
    }
}

/// One text of all files of projects that differ in what they need.
std::string all_exports() {
    const auto plain = request(4, 9, Precision::f32, 1, "c99:generic"), several = request(3, 9, Precision::f32, 2, "c99:cortex-m7");
    auto laid_out = several, data = several, prefactored = request(1, 2, Precision::f64, 1, "c99:generic");
    laid_out.spec.order = Order::column_major;
    data.data = ProblemData{std::vector<double>(81, 1), std::vector<double>(72), std::vector<double>(54)};
    prefactored.prefactored = Prefactored{.d = {2, 2}, .e = {1}, .shifts = {0, 1}};
    std::string text;
    for (const auto& project : {plain, several, laid_out, data, prefactored, with_corrections(plain, 1), with_ldlt(plain),
                                with_schedule(several, "partitioned:3"), request(4, 9, Precision::f32, 1, "c99:neon")})
        for (const auto& file : export_project(project)) text += file.text;
    return text;
}

std::string_view without_blanks(std::string_view line) {
    const auto begin = line.find_first_not_of(' ');
    return begin == line.npos ? std::string_view{} : line.substr(begin);
}

/// The longest line of each section that has nothing to fill in, by "file, section".
std::map<std::string, std::string> lines_of_sections() {
    std::map<std::string, std::string> lines;
    for (const auto name : template_names()) {
        if (!name.starts_with("export/c99/")) continue;
        std::istringstream text{std::string(template_text(name))};
        std::string section;
        for (std::string line; std::getline(text, line);) {
            if (line.starts_with("@@ ")) section = fmt::format("{}, {}", name, line.substr(3, line.find(':') - 3));
            if (section.empty() || line.find('@') != line.npos) continue;
            auto& longest = lines[section];
            if (without_blanks(line).size() > longest.size()) longest = without_blanks(line);
        }
    }
    return lines;
}

}  // namespace

TEST_CASE("export: no mark of a template is left in any file of any export") {
    for (const std::string target : {"c99:generic", "c99:cortex-m4", "c99:cortex-m7", "c99:neon", "c99:avx2", "c99:avx512", "c99:rvv"}) {
        const auto plain = request(3, 5, Precision::f32, 2, target);
        check_filled(export_project(with_corrections(plain, 2)));
        auto other = plain;
        other.spec.order = Order::column_major;
        other.spec.d.stage = 0;
        check_filled(export_project(other));
        other = plain;
        other.data = ProblemData{std::vector<double>(45, 1), std::vector<double>(36), std::vector<double>(30)};
        check_filled(export_project(other));
        if (!target.starts_with("c99:generic") && !target.starts_with("c99:cortex")) continue;
        check_filled(export_project(with_corrections(with_ldlt(plain), 1)));
        check_filled(export_project(with_schedule(plain, "twisted:2")));
        other = request(1, 2, Precision::f64, 1, target);
        other.prefactored = Prefactored{.d = {2, 2}, .e = {1}, .shifts = {0, 1}};
        check_filled(export_project(other));
    }
    for (const std::string targets : {"cuda:sm_90", "cuda:sm_87,sm_110", "hip:gfx942"})
        for (const std::int64_t n : {4, 40, 130})
            check_filled(export_gpu_project({.spec = {.block = n, .horizon = 9, .operations = export_operations()},
                                             .targets = parse_gpu_targets(targets),
                                             .tuning = {}}));
}

TEST_CASE("export: a section of a template ends where the next begins, and an unknown one is named") {
    CHECK(section("kernels.c", "least_pivot").starts_with("btd_real btd_least_pivot("));
    CHECK(section("kernels.c", "sweeps").ends_with("    return solved(check_finite(x), status);\n}\n"));
    CHECK(section("solver.c", "forward_rows").find("@LOADS@@BEFORE@@OWN@@FINISH@}\n") != std::string::npos);
    CHECK_THROWS_WITH(section("kernels.c", "lanes"), "templates/export/c99/kernels.c has no section 'lanes'");
}

TEST_CASE("export: each section of each template is in some project") {
    const auto sections = lines_of_sections();
    const auto text = all_exports();
    CHECK(sections.size() > 50);
    for (const auto& [section, line] : sections) {
        INFO(section << ": " << line);
        CHECK(text.find(line) != text.npos);
    }
}
