// The manifest's operation counts, against the exported code itself, run with numbers that count.
#include <doctest/doctest.h>

#include "tests/export/c99/project.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

const char* const program = R"(
#include <cstdio>
static btd_workspace workspace;
static btd_real d[BTD_HORIZON * BTD_BLOCK * BTD_BLOCK], e[BTD_COUPLINGS * BTD_BLOCK * BTD_BLOCK], b[BTD_HORIZON * BTD_BLOCK * BTD_RHS];
static void report(const char* call, const btd_status& status) {
    std::printf("%s %d %ld %ld %ld %ld %ld\n", call, status.code, counts.subtract, counts.multiply - counts.subtract, counts.divide,
                counts.square_root, counts.add);
    counts = {};
}
int main() {
    btd_init(&workspace);
    for (auto& x : e) x = 0;
    for (auto& x : b) x = 1;
    for (int i = 0; i < BTD_HORIZON; ++i)
        for (int r = 0; r < BTD_BLOCK; ++r) d[(i * BTD_BLOCK + r) * BTD_BLOCK + r] = 2;
    report("factor", btd_factor(&workspace, d, e));
    report("solve", btd_solve(&workspace, b, b));
#ifdef BTD_CORRECTIONS
    static btd_real x[BTD_HORIZON * BTD_BLOCK * BTD_RHS], residual[BTD_HORIZON * BTD_BLOCK * BTD_RHS];
    btd_solve(&workspace, b, x);
    const long solve = counts.subtract + counts.multiply + counts.add;
    counts = {};
    btd_solve_refined(&workspace, d, e, b, x, residual);
    std::printf("%ld\n", counts.subtract + counts.multiply + counts.add - (BTD_CORRECTIONS + 1) * solve);
#elif !defined(BTD_CHAINS)
    report("refactor", btd_refactor(&workspace, d, e));
#endif
}
)";

std::string expected(const char* call, const nlohmann::json& counts) {
    const auto number = [&](const char* key) { return std::to_string(counts.value(key, 0L)); };
    return std::string(call) + " 0 " + number("multiply_subtract") + " " + number("multiply") + " " + number("divide") + " " +
           number("square_root") + " " + number("add") + "\n";
}

void check_counts(const ExportRequest& request) {
    const bool refines = request.corrections > 0, in_place = request.schedule == "sequential" && !refines;
    const Project project(request);
    auto header = project.read("btd_solver.h");
    const std::string type = request.spec.precision == Precision::f32 ? "typedef float btd_real;" : "typedef double btd_real;";
    const auto at = header.find(type);
    REQUIRE(at != std::string::npos);
    header.replace(at, type.size(), "}\n#include \"" TEST_FOLDER "/counting.hpp\"\nextern \"C\" {\ntypedef Counting btd_real;");
    project.write("btd_solver.h", header);
    project.write("count.cpp", project.read("btd_solver.c") + program);
    const std::string refine = refines ? " -x c++ btd_refine.c" : "";
    const auto ran = project.run("g++ -std=c++17 -w '-DBTD_SQRT(x)=counting_root(x)' -o count count.cpp" + refine + " && ./count");
    const auto operations = project.manifest()["operations"];
    CAPTURE(request.spec.block);
    CAPTURE(request.spec.horizon);
    CAPTURE(request.schedule);
    // The corrected X is tested once more: a product, a difference an element, and three sums.
    const auto test = 2 * request.spec.horizon * request.spec.block * request.spec.rhs + 3;
    const auto correction = request.corrections * correction_flops(request, false) + test;
    CHECK(ran.out == expected("factor", operations["factor"]) + expected("solve", operations["solve"]) +
                         (in_place ? expected("refactor", operations["factor"]) : "") + (refines ? std::to_string(correction) + "\n" : ""));
    const auto& solve = operations["solve"];
    if (request.factorization == Factorization::ldlt) CHECK(operations["factor"]["square_root"] == 0);
    CHECK(solve["flops"] == 2 * solve["multiply_subtract"].get<long>() + solve["multiply"].get<long>() + solve.value("add", 0L));
}

}  // namespace

TEST_CASE("export: the manifest's operation counts are those of the code") {
    for (const std::int64_t n : {1, 2, 5, 12, 33})
        for (const std::int64_t horizon : {1, 2, 7}) check_counts(request(n, horizon, Precision::f64, n % 3 + 1));
    for (const std::string schedule : {"partitioned:2", "partitioned:4", "twisted:2", "twisted:3"})
        for (const std::int64_t n : {1, 4, 7}) check_counts(with_schedule(request(n, 13, Precision::f64, n % 3 + 1), schedule));
    for (const std::int64_t n : {1, 2, 5, 12}) check_counts(with_ldlt(request(n, n == 2 ? 1 : 7, Precision::f64, n % 3 + 1)));
    for (const std::int64_t n : {1, 3, 6, 13}) check_counts(with_size(request(n, 4, Precision::f32, n % 3 + 1)));
    for (const std::int64_t n : {4, 5, 6}) check_counts(request(n, 7, Precision::f32));
    for (const std::int64_t n : {1, 4, 7}) check_counts(with_corrections(request(n, n == 1 ? 1 : 5, Precision::f64, n % 3 + 1), n));
}
