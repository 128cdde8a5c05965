// Sparse systems, end to end: points, their knobs, a sweep on the processor, its decision as wisdom, and the SparsePlan that takes it.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <trifold/error.hpp>
#include <trifold/sparse.hpp>

#include "generator/sparse/spec_json.hpp"
#include "tests/support/capture_file.hpp"
#include "tests/tools/tune/place.hpp"
#include "tools/formats/file.hpp"
#include "tools/tune/points.hpp"
#include "tools/tune/rows.hpp"
#include "tools/tune/space.hpp"
#include "tools/tune/sparse/family.hpp"
#include "tools/tune/sparse/spec.hpp"
#include "tools/tune/sweep.hpp"

namespace fs = std::filesystem;
using namespace trifold;
using namespace trifold::tune;
using trifold::tune::sparse::point_of;
using trifold::tune::sparse::program_of;

namespace {

const Target h200{Backend::cuda, "sm_90"};
const SparseMesh cells{24, 20, 16};  // several subdomains of 4096 and of 16384 numbers
const SparseSpec small{.block = 3};

/// A tridiagonal matrix by rows.
SparsePattern line(std::int64_t rows) {
    std::vector<std::int64_t> starts{0}, columns;
    for (std::int64_t row = 0; row < rows; ++row) {
        for (auto column = std::max<std::int64_t>(0, row - 1); column < std::min(rows, row + 2); ++column) columns.push_back(column);
        starts.push_back(static_cast<std::int64_t>(columns.size()));
    }
    return {starts, columns};
}

}  // namespace

TEST_CASE("sparse points: meshes and kinds on the command line, and Specs in files") {
    const auto points = test::points_of_command({"--sparse", "12x10x8,20x30", "--block", "1,3", "--precision", "f32"});
    REQUIRE(points.size() == 4);
    CHECK(to_string(points[0]) == "960x1 f32 12x10x8");
    CHECK(to_string(points[1]) == "960x3 f32 12x10x8");
    CHECK(to_string(points[2]) == "600x1 f32 20x30x1 5 points");
    CHECK(points[0].objective == Objective{{"update", 1}, {"solve", 1}});
    CHECK(tune::sparse::problem_of(points[1]).spec == SparseSpec{.block = 3, .precision = Precision::f32});
    const auto odd = test::points_of_command(
        {"--sparse", "9x9x9", "--points", "27", "--preconditioner", "ic0", "--method", "cg", "--operation", "solve"});
    CHECK(to_string(odd.at(0)) == "729x1 f64 solve 9x9x9 ic0 cg 27 points");
    CHECK_THROWS_WITH_AS(test::points_of_command({"--sparse", "9"}), doctest::Contains("'9' is no mesh"), SpecError);
    CHECK_THROWS_WITH_AS(test::points_of_command({"--sparse", "9x9x9", "--block", "9"}),
                         doctest::Contains("729x9 f64 cannot be tuned: block = 9"), SpecError);
    CHECK_THROWS_WITH_AS(test::points_of_command({"--sparse", "9x9x9", "--operation", "factor"}),
                         doctest::Contains("'factor' is no operation of sparse; give some of update, apply"), SpecError);
    CHECK_THROWS_WITH_AS(test::points_of_command({"--sparse", "9x9x9", "--preconditioner", "ic0"}),
                         doctest::Contains("for symmetric matrices"), SpecError);
    CHECK_THROWS_AS(test::points_of_command({"--method", "cg"}), CLI::Error);
    CHECK_THROWS_WITH_AS(test::points_of_command({"--grid", "9x9", "--block", "3"}),
                         doctest::Contains("nothing that has blocks; give --horizon or --sparse"), SpecError);
    CHECK(test::points_of_command({"--grid", "9x9", "--sparse", "5x5x5", "--block", "3"}).size() == 2);
    PointFiles files;
    files.read("{\"family\": \"sparse\", \"rows\": 1000, \"entries\": 6400, \"block\": 2}\n", "a file");
    CHECK(to_string(files.points().at(0)) == "1000x2 f64");
    CHECK_THROWS_WITH_AS(files.read("{\"family\": \"sparse\", \"rows\": 10, \"entries\": 9}", "a file"),
                         doctest::Contains("at least as many 'entries'"), formats::InputError);
    CHECK_THROWS_WITH_AS(files.read("{\"family\": \"sparse\", \"cells\": 10}", "a file"), doctest::Contains("has no 'cells'"),
                         formats::InputError);
    CHECK_THROWS_WITH_AS(files.read("{\"family\": \"sparse\", \"mesh\": \"4x4\", \"points\": 5, \"operations\": [\"factor\"]}", "a file"),
                         doctest::Contains("give some of update, apply"), formats::InputError);
}

TEST_CASE("sparse points: what a program was captured with, of a mesh and of rows") {
    const test::CaptureFile captured;
    {
        const SparseMesh box{6, 5, 4};
        SparseSolver of_mesh{SparsePlan({}, SparsePattern(box), Device::cpu())}, of_rows{SparsePlan({}, line(50), Device::cpu())};
        for (auto* solver : {&of_mesh, &of_rows}) {
            const auto& pattern = solver->plan().pattern();
            std::vector<double> values(static_cast<std::size_t>(pattern.values()), -0.1), b(static_cast<std::size_t>(pattern.rows()), 1.0),
                x(b);
            for (std::int64_t row = 0; row < pattern.rows(); ++row)
                for (auto k = pattern.starts()[static_cast<std::size_t>(row)]; k < pattern.starts()[static_cast<std::size_t>(row) + 1]; ++k)
                    if (pattern.columns()[static_cast<std::size_t>(k)] == row)
                        values[pattern.sources().empty() ? static_cast<std::size_t>(k)
                                                         : static_cast<std::size_t>(pattern.sources()[static_cast<std::size_t>(k)])] = 2;
            solver->update(values);
            for (int k = 0; k < 3; ++k) solver->solve(b, x);
            solver->check();
        }
    }
    PointFiles files;
    files.read(read_text(captured.path()), "captured");
    CHECK(files.warnings().empty());
    const auto points = files.points();
    REQUIRE(points.size() == 2);
    std::set<std::string> sizes;
    for (const auto& point : points) {
        const auto problem = tune::sparse::problem_of(point);
        CHECK(problem.spec == SparseSpec{});
        CHECK(point.objective == Objective{{"update", 0.25}, {"solve", 0.75}});
        sizes.insert(fmt::format("{} {} {}", problem.sizes.rows, problem.sizes.entries, problem.sizes.mesh.has_value()));
    }
    CHECK(sizes == std::set<std::string>{"120 692 true", "50 148 false"});
}

TEST_CASE("sparse keys: a row of wisdom says a mesh or sizes, and nothing else is one") {
    using trifold::sparse::key_of, trifold::sparse::problem_of;
    for (const auto& problem : {trifold::sparse::Problem{{.method = SparseMethod::gmres, .restart = 7}, {1000, 6400, {}}},
                                trifold::sparse::Problem{{.block = 3, .rhs = 2}, trifold::sparse::sizes_of(SparseMesh{7, 6, 5, 19})}}) {
        const auto key = key_of(problem, h200, 4);
        CHECK(key.workers == 1);
        CHECK(problem_of(key).spec == problem.spec);
        CHECK(problem_of(key).sizes == problem.sizes);
        CHECK(tune::sparse::family().spec(key) == trifold::sparse::to_json(problem));
    }
    auto key = key_of({{}, {1000, 6400, {}}}, h200, 1);
    CHECK(key.layout == "b1,ildu0,bicgstab,rows");
    const auto wrong = [&](auto&& change) {
        auto other = key;
        change(other);
        CHECK_THROWS_AS(problem_of(other), SpecError);
    };
    wrong([](ProblemKey& k) { k.layout = "b1,ildu0,bicgstab"; });
    wrong([](ProblemKey& k) { k.layout = "b1,ildu0,bicgstab,mesh"; });
    wrong([](ProblemKey& k) { k.layout = "b01,ildu0,bicgstab,rows"; });
    wrong([](ProblemKey& k) { k.size = "10x20x30"; });
    wrong([](ProblemKey& k) { k.operations = "factor"; });
}

TEST_CASE("sparse space: every knob that a Program asks for, and each value makes other kernels or launches") {
    const auto point = point_of({.block = 3}, {48, 48, 32});
    for (const auto& target : {h200, Device::cpu().target()}) {
        const auto space = space_of(point, target, "");
        CHECK(space.standard == Candidate{"subdomains", "sweeps"});
        CHECK(space.pairs.empty());
        std::set<std::string> knobs, prints{fingerprint(program_of(point, target, space.standard).first)};
        for (const auto& values : space.knobs(space.standard)) {
            knobs.insert(values.knob);
            for (const auto& candidate : values.candidates) {
                INFO(candidate.variant);
                CHECK(prints.insert(fingerprint(program_of(point, target, candidate).first)).second);
            }
        }
        CHECK(knobs == (target == h200 ? std::set<std::string>{"resident_threads", "tile_scalars"}
                                       : std::set<std::string>{"slice_scalars", "tile_scalars"}));
    }
    CHECK_THROWS_WITH_AS(program_of(point, h200, {"subdomains", "sweeps:tile_scalars=7"}), doctest::Contains("give one of 768, 1536"),
                         SpecError);
    CHECK_THROWS_WITH_AS(program_of(point, h200, {"subdomains", "levels"}), doctest::Contains("give auto, sweeps, or sweeps with knobs"),
                         SpecError);
    CHECK_THROWS_WITH_AS(program_of(point, h200, {"dissection", "sweeps"}), doctest::Contains("give subdomains"), SpecError);
}

TEST_CASE("sparse measure: every operation agrees between sizes of subdomains, and a wrong one is found") {
    for (const auto precision : {Precision::f64, Precision::f32, Precision::mixed})
        for (const auto method : {SparseMethod::bicgstab, SparseMethod::cg}) {
            const SparseSpec spec{.block = 2, .precision = precision, .method = method, .rhs = 2, .batch = 2};
            auto point = point_of(spec, {20, 18, 14});
            point.objective.clear();
            for (const auto operation : tune::sparse::family().operations) point.objective.emplace_back(operation, 1);
            for (const bool spoiled : {false, true}) {
                MeasureOptions options;
                if (spoiled)
                    options.spoil = [](const Candidate& candidate, Outputs& outputs) {
                        if (candidate.variant != "sweeps") outputs.values.at("gradient").back() += 1;
                    };
                std::vector<Trial> trials(3);
                for (auto& trial : trials) trial.point = point, trial.candidate = {"subdomains", "sweeps"};
                trials[1].candidate.variant = "sweeps:slice_scalars=2048,tile_scalars=4096";
                PointBench(point, Device::cpu(), options).measure_by_turns(trials, {"final", 4, true});
                INFO(to_string(point), trials[1].why);
                CHECK(trials[0].verdict == Verdict::sound);
                CHECK(trials[0].residual > 0);
                CHECK(trials[0].seconds.size() == tune::sparse::family().operations.size());
                CHECK(trials[1].verdict == (spoiled ? Verdict::disagrees : Verdict::sound));
            }
        }
}

TEST_CASE("sparse measure: rows of which sizes alone are known, and a candidate that is refused") {
    Trial trial;
    trial.point = {.spec = trifold::sparse::to_json({{}, {3000, 20000, {}}}), .objective = {{"solve", 1}}};
    trial.candidate = {"subdomains", "sweeps"};
    PointBench(trial.point, Device::cpu(), {}).measure(trial, {"first", 1}, true);
    INFO(trial.why);
    CHECK(trial.verdict == Verdict::sound);
    const auto stands = tune::sparse::pattern_of({3000, 20000, {}});
    CHECK(stands.mesh() == nullptr);
    CHECK(stands.rows() == 3375);
    trial.candidate.variant = "sweeps:tile_scalars=5";
    PointBench(trial.point, Device::cpu(), {}).measure(trial, {"first", 1}, true);
    CHECK(trial.verdict == Verdict::refused);
    CHECK(trial.why.find("give one of 4096, 8192") != std::string::npos);
}

TEST_CASE("sparse sweep: knobs are searched, the decision is wisdom, and a SparsePlan takes it") {
    const test::Place place{"sparse"};
    const auto report = place.run(point_of(small, cells), test::fast_with("tile_scalars=4096"));
    REQUIRE(report.results.size() == 1);
    INFO(report.results[0].why);
    REQUIRE(report.results[0].decision);
    const auto& decision = *report.results[0].decision;
    CHECK(decision.winner == Candidate{"subdomains", "sweeps:tile_scalars=4096"});
    CHECK(decision.gain() == doctest::Approx(2));
    CHECK(place.run(point_of(small, cells), test::fast_with("tile_scalars=4096")).results.at(0).was_decided);

    const auto row = row_of(decision);
    CHECK(key_of(row).find("\tf64\tsolve\tb3,ildu0,bicgstab,mesh7\t1\tsparse\t") != std::string::npos);
    CHECK(decision_of(row).winner == decision.winner);
    formats::write_file(place.wisdom, write_wisdom({row}));
    const SparsePattern pattern(cells);
    const SparsePlan plan(small, pattern, Device::cpu()), plain(small, pattern, Device::cpu(), {}, {.variant = "sweeps"});
    CHECK(plan.choice().rung == Rung::exact);
    CHECK(plan.choice().row.find("24x20x16") != std::string::npos);
    CHECK(plan.tuning().variant == "sweeps:tile_scalars=4096");
    CHECK(plan.summary().tiles > plain.summary().tiles);
    CHECK(plain.choice().rung == Rung::pinned);
    CHECK(SparsePlan(small, SparsePattern(SparseMesh{24, 20, 20}), Device::cpu()).choice().rung == Rung::nearest);
    CHECK(SparsePlan(small, SparsePattern(SparseMesh{64, 20, 16}), Device::cpu()).choice().rung == Rung::model);
    CHECK(SparsePlan(small, pattern, Device::cpu(), {}, {.workers = 2}).choice().rung == Rung::model);
    CHECK(SparsePlan(small, SparsePattern(pattern.starts(), pattern.columns()), Device::cpu()).choice().rung == Rung::model);
    const SparsePlan told(small, pattern, Device::cpu(), {.rows = 500});  // who says the size of subdomains is not overruled
    CHECK(told.summary().largest_tile <= 500);
    CHECK_THROWS_WITH_AS(SparsePlan(small, pattern, Device::cpu(), {}, {.variant = "tiles"}), doctest::Contains("unknown variant 'tiles'"),
                         SpecError);
}

TEST_CASE("sparse sweep: a fast candidate that is wrong does not win") {
    const test::Place place{"sparse-time"};
    auto measuring = test::fast_with("tile_scalars=4096");
    measuring.spoil = [](const Candidate& candidate, Outputs& outputs) {
        if (candidate.variant.find("tile_scalars=4096") != std::string::npos) outputs.values.at("solve").front() += 1;
    };
    const auto wrong = place.run(point_of(small, cells), measuring);
    REQUIRE(wrong.results.at(0).decision);
    CHECK(wrong.results[0].decision->winner == wrong.results[0].decision->standard);
    CHECK(wrong.state.failures.contains(Verdict::disagrees));
}
