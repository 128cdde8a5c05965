// Instructions of a factorization and a solve against their flops, as the project's own `make report` counts them.
#include <doctest/doctest.h>

#include "tests/export/c99/project.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

struct Case {
    std::string target;
    std::int64_t block, horizon, rhs;
    Precision precision;
    double factor_at_most, solve_at_most;  // instructions a flop, of GCC 12 -O2
    double at_least = 0.5;                 // an instruction does a multiply-subtract at most, in each lane of a vector
};

const Case cases[] = {
    {"c99:cortex-m7", 12, 20, 1, Precision::f32, 1.07, 1.51},  {"c99:cortex-m7", 64, 3, 2, Precision::f64, 1.1, 1.35},
    {"c99:cortex-m7", 7, 11, 3, Precision::f32, 1.4, 1.5},     {"c99:cortex-m4", 12, 20, 1, Precision::f32, 1.1, 1.6},
    {"c99:cortex-m4", 1, 1, 1, Precision::f32, 40, 40},        {"c99:generic", 6, 64, 1, Precision::f64, 3.5, 3.3},
    {"c99:generic", 12, 20, 1, Precision::f32, 2.3, 2.7},      {"c99:neon", 12, 20, 1, Precision::f32, 0.75, 1.35, 0.5 / 4},
    {"c99:rvv", 12, 20, 1, Precision::f32, 1.1, 1.5, 0.5 / 4},
};

void check_report(const Case& c) {
    CAPTURE(c.target);
    CAPTURE(c.block);
    const Project project(request(c.block, c.horizon, c.precision, c.rhs, c.target));
    const auto manifest = project.manifest();
    const auto ran = project.run("make -s " + manifest["instruction_report"]["command"].get<std::string>().substr(5));
    REQUIRE_MESSAGE(ran.status == 0, ran.out);
    const auto report = nlohmann::json::parse(project.read(manifest["instruction_report"]["file"]));
    CHECK(report["target"] == c.target);
    CHECK(report["flags"].get<std::string>().ends_with("-O2"));
    for (const std::string call : {"factor", "solve"}) {
        const auto& flops = manifest["operations"][call];
        CHECK(report[call]["flops"] == flops[flops.contains("flops") ? "flops" : "nominal_flops"]);
        const auto ratio = report[call]["instructions"].get<double>() / report[call]["flops"].get<double>();
        INFO(call);
        CHECK(ratio <= (call == "factor" ? c.factor_at_most : c.solve_at_most));
        CHECK(ratio >= c.at_least);
        CHECK(report[call]["instructions_per_flop"].get<double>() == doctest::Approx(ratio).epsilon(1e-3));
    }
}

}  // namespace

TEST_CASE("export: instructions of a factorization and a solve are within bounds") {
    for (const auto& c : cases) check_report(c);
    if (__builtin_cpu_supports("avx2")) check_report({"c99:avx2", 12, 20, 1, Precision::f32, 1.05, 1.15, 0.5 / 8});
}

TEST_CASE("export: a report of calls that fail is none") {
    for (const std::string target : {"c99:cortex-m7", "c99:generic", "c99:neon"}) {
        const Project project(request(3, 3, Precision::f32, 1, target));
        auto text = project.read("report_main.c");
        text.replace(text.find("3 * BTD_BLOCK + 1"), 1, "-3");
        project.write("report_main.c", text);
        CHECK(project.run("timeout 60 make -s report").status != 0);
        CHECK(project.run("test -e report.json").status != 0);
    }
}
