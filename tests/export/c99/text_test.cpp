// Exported texts as such: nothing in them is left to fill in.
#include <regex>

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
    auto ring = several, closed = plain, sized = plain;
    ring.spec.ring = closed.spec.ring = sized.spec.sizes = true;
    ring.spec.border = sized.spec.border = 2;
    closed.spec.horizon = 1;
    laid_out.spec.order = Order::column_major;
    auto signs = with_ldlt(plain), general = plain;
    signs.spec.matrix = MatrixKind::symmetric, general.spec.matrix = MatrixKind::general;
    data.data = ProblemData{std::vector<double>(81, 1), std::vector<double>(72), std::vector<double>(54)};
    prefactored.prefactored = Prefactored{.d = {2, 2}, .e = {1}, .shifts = {0, 1}};
    std::string text;
    for (const auto& project :
         {plain, several, laid_out, data, prefactored, with_corrections(plain, 1), with_ldlt(plain), with_ldlt(ring), closed, sized, signs,
          general, with_schedule(several, "partitioned:3"), request(4, 9, Precision::f32, 1, "c99:neon")})
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
        other = plain;
        other.spec.matrix = MatrixKind::general;
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
    CHECK(says(section("solver.c", "forward_rows"), "@LOADS@@BEFORE@@OWN@@FINISH@}\n"));
    CHECK_THROWS_WITH(section("kernels.c", "lanes"), "templates/export/c99/kernels.c has no section 'lanes'");
}

TEST_CASE("export: each section of each template is in some project") {
    const auto sections = lines_of_sections();
    const auto text = all_exports();
    CHECK(sections.size() > 50);
    for (const auto& [section, line] : sections) {
        INFO(section << ": " << line);
        CHECK(says(text, line));
    }
}

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
    INFO(c.target, " ", c.block);
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

namespace {

const char* const program = R"(
#include <cstdio>
static btd_workspace workspace;
#ifdef BTD_BORDER
static btd_real f[BTD_HORIZON * BTD_BORDER * BTD_BLOCK + 1], c[BTD_BORDER * BTD_BORDER + 1];
enum { ROWS = BTD_HORIZON * BTD_BLOCK + BTD_BORDER };
#else
enum { ROWS = BTD_HORIZON * BTD_BLOCK };
#endif
static btd_real d[BTD_HORIZON * BTD_BLOCK * BTD_BLOCK], e[BTD_HORIZON * BTD_BLOCK * BTD_BLOCK], b[ROWS * BTD_RHS];
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
#ifdef BTD_BORDER
    for (auto& x : f) x = 0;
    for (auto& x : c) x = 2;
    for (int r = 0; r < BTD_BORDER; ++r) c[r * BTD_BORDER + r] = 64;
#endif
    report("factor", btd_factor(&workspace, d, e));
    report("solve", btd_solve(&workspace, b, b));
#ifdef BTD_CORRECTIONS
    static btd_real x[BTD_HORIZON * BTD_BLOCK * BTD_RHS], residual[BTD_HORIZON * BTD_BLOCK * BTD_RHS];
    btd_solve(&workspace, b, x);
    const long solve = counts.subtract + counts.multiply + counts.add;
    counts = {};
    btd_solve_refined(&workspace, d, e, b, x, residual);
    std::printf("%ld\n", counts.subtract + counts.multiply + counts.add - (BTD_CORRECTIONS + 1) * solve);
#elif !defined(BTD_CHAINS) && !defined(BTD_BORDER)
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
    const bool refines = request.corrections > 0, in_place = request.schedule == "sequential" && !refines && !has_shape(request.spec);
    const Project project(request);
    auto header = project.read("btd_solver.h");
    const std::string type = request.spec.precision == Precision::f32 ? "typedef float btd_real;" : "typedef double btd_real;";
    const auto at = header.find(type);
    REQUIRE(at != std::string::npos);
    header.replace(at, type.size(), "}\n#include \"" TEST_FOLDER "/counting.hpp\"\nextern \"C\" {\ntypedef Counting btd_real;");
    project.write("btd_solver.h", header);
    auto calls = std::string(program);
    if (const auto& spec = request.spec; spec.border > 0 || spec.sizes) {
        const std::string call = "btd_factor(&workspace, d, e)";
        const auto shape =
            fmt::format("static const btd_shape shape = {{{}{}}};\n", spec.border > 0 ? "f, c, " : "", spec.sizes ? "nullptr" : "");
        calls.replace(calls.find(call), call.size(), "btd_factor(&workspace, d, e, &shape)");
        calls.insert(calls.find("static void report"), shape);
    }
    project.write("count.cpp", project.read("btd_solver.c") + calls);
    const std::string refine = refines ? " -x c++ btd_refine.c" : "";
    const auto ran = project.run("g++ -std=c++17 -w '-DBTD_SQRT(x)=counting_root(x)' -o count count.cpp" + refine + " && ./count");
    const auto operations = project.manifest()["operations"];
    INFO(request.spec.block, " ", request.spec.horizon, " ", request.schedule);
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
    for (const std::int64_t n : {1, 2, 5, 12}) {
        auto signs = with_ldlt(request(n, n == 2 ? 1 : 7, Precision::f64, n % 3 + 1));
        signs.spec.matrix = MatrixKind::symmetric;
        check_counts(signs);
    }
    for (const std::int64_t n : {1, 3, 6, 13}) check_counts(with_size(request(n, 4, Precision::f32, n % 3 + 1)));
    for (const std::int64_t n : {4, 5, 6}) check_counts(request(n, 7, Precision::f32));
    for (const std::int64_t n : {1, 3, 6, 12})
        for (const std::int64_t horizon : {1, 2, 5})
            for (const auto& [border, ring, sizes] : {std::tuple{1, false, true}, {4, false, false}, {0, true, false}, {6, true, false}}) {
                auto asked = request(n, horizon, Precision::f64, n % 3 + 1);
                asked.spec.border = border;
                asked.spec.ring = ring;
                asked.spec.sizes = sizes;
                check_counts(n % 2 == 0 ? asked : with_ldlt(asked));
            }
    for (const std::int64_t n : {1, 4, 7}) check_counts(with_corrections(request(n, n == 1 ? 1 : 5, Precision::f64, n % 3 + 1), n));
}
