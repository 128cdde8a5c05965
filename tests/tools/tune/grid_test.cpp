// Grids, end to end: points, their knobs, a sweep on the processor, its decision as wisdom, and the GridPlan that takes it.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <trifold/error.hpp>
#include <trifold/grid.hpp>

#include "generator/grid/knobs.hpp"
#include "tests/support/capture_file.hpp"
#include "tests/tools/tune/place.hpp"
#include "tools/formats/file.hpp"
#include "tools/tune/grid/spec.hpp"
#include "tools/tune/points.hpp"
#include "tools/tune/rows.hpp"
#include "tools/tune/space.hpp"
#include "tools/tune/sweep.hpp"

namespace fs = std::filesystem;
using namespace trifold;
using namespace trifold::tune;

namespace {

const Target h200{Backend::cuda, "sm_90"};
const GridSpec small{.width = 33, .height = 17, .batch = 2};  // leaf tiles of 8 and of 16 cells make other trees than those of 4

}  // namespace

TEST_CASE("grid points: sizes and kinds on the command line, and Specs in files") {
    const auto points =
        test::points_of_command({"--grid", "33x17,65x65", "--matrix", "general,symmetric", "--batch", "1,4", "--precision", "f32"});
    REQUIRE(points.size() == 8);
    CHECK(to_string(points[0]) == "33x17 f32");
    CHECK(to_string(points[1]) == "33x17x4 f32");
    CHECK(to_string(points[2]) == "33x17 f32 symmetric");
    CHECK(to_string(points.back()) == "65x65x4 f32 symmetric");
    CHECK(tune::grid::spec_of(points[0]) == GridSpec{.width = 33, .height = 17, .precision = Precision::f32});
    const auto odd =
        test::points_of_command({"--grid", "9x9", "--pivoting", "none", "--boundary", "fixed", "--operation", "factor+3*solve"});
    CHECK(to_string(odd.at(0)) == "9x9 f64 factor+3*solve fixed unpivoted");
    CHECK_THROWS_WITH_AS(test::points_of_command({"--grid", "9"}), doctest::Contains("--grid '9' is no size of an image"), SpecError);
    CHECK_THROWS_WITH_AS(test::points_of_command({"--grid", "1x9"}), doctest::Contains("1x9 f64 cannot be tuned: the image's width"),
                         SpecError);
    CHECK_THROWS_WITH_AS(test::points_of_command({"--grid", "9x9", "--operation", "inverse"}),
                         doctest::Contains("'inverse' is no operation of grid; give some of factor, solve"), SpecError);
    CHECK_THROWS_AS(test::points_of_command({"--matrix", "symmetric"}), CLI::Error);
    PointFiles files;
    files.read("{\"family\": \"grid\", \"width\": 9, \"height\": 5, \"objective\": \"solve\"}\n{\"block\": 3, \"horizon\": 4}\n", "a file");
    CHECK(to_string(files.points().at(0)) == "9x5 f64 solve");
    CHECK(to_string(files.points().at(1)) == "4x3 f64");
    CHECK_THROWS_WITH_AS(files.read("{\"family\": \"torus\"}", "a file"), doctest::Contains("of no family that can be tuned"),
                         formats::InputError);
}

TEST_CASE("grid points: what a program was captured with, but for operations that are parts of others") {
    const test::CaptureFile captured;
    const GridSpec spec{.width = 9, .height = 5};
    {
        GridSolver solver{GridPlan(spec, Device::cpu())};
        std::vector<double> stencil(9 * 45), b(45, 1.0), x(45);
        for (std::size_t pixel = 0; pixel < 45; ++pixel) stencil[9 * pixel + 4] = 2;
        solver.factor(stencil);
        for (int k = 0; k < 3; ++k) solver.solve(b, x);
        solver.refine(stencil, b, x);
    }
    PointFiles files;
    files.read(read_text(captured.path()), "captured");
    CHECK(files.warnings().empty());
    const auto points = files.points();
    REQUIRE(points.size() == 1);
    CHECK(tune::grid::spec_of(points[0]) == spec);
    CHECK(points[0].objective == Objective{{"factor", 0.2}, {"solve", 0.8}});  // a step of refinement solves too
}

TEST_CASE("grid space: every knob that a level or a kernel asks for, and each value makes other kernels or launches") {
    const auto point = tune::grid::point_of({.width = 257, .height = 257});
    const auto space = space_of(point, h200, "");
    CHECK(space.standard == Candidate{"dissection", "fronts"});
    CHECK(space.pairs.empty());
    std::set<std::string> knobs, prints{fingerprint(generate(tune::grid::choice_of(point, h200, space.standard)))};
    for (const auto& values : space.knobs(space.standard)) {
        knobs.insert(values.knob);
        for (const auto& candidate : values.candidates) {
            INFO(candidate.variant);
            CHECK(prints.insert(fingerprint(generate(tune::grid::choice_of(point, h200, candidate)))).second);
        }
    }
    for (const auto* knob : {"panel_columns", "product_side", "step_rows", "leaf_blocks", "step_1_blocks", "backward_kept_blocks"})
        CHECK_MESSAGE(knobs.contains(knob), knob);
    CHECK_FALSE(knobs.contains("step_16_blocks"));  // no line of this image is so long
}

TEST_CASE("grid measure: every operation of all kinds of matrices agrees between leaf tiles, and a wrong one is found") {
    for (const auto precision : {Precision::f64, Precision::f32})
        for (const auto matrix : {GridMatrix::general, GridMatrix::symmetric}) {
            auto spec = small;
            spec.precision = precision;
            spec.matrix = matrix;
            spec.boundary = matrix == GridMatrix::symmetric ? GridBoundary::fixed : GridBoundary::natural;
            auto point = tune::grid::point_of(spec);
            point.objective.clear();
            for (const auto operation : spec.operations) point.objective.emplace_back(to_string(operation), 1);
            for (const bool spoiled : {false, true}) {
                MeasureOptions options;
                if (spoiled)
                    options.spoil = [](const Candidate& candidate, Outputs& outputs) {
                        if (candidate.variant != "fronts") outputs.values.at("gradient").back() += 1;
                    };
                std::vector<Trial> trials(3);
                for (auto& trial : trials) trial.point = point, trial.candidate = {"dissection", "fronts"};
                trials[1].candidate.variant = "fronts:leaf_cells=8";
                PointBench(point, Device::cpu(), options).measure_by_turns(trials, {"final", 4, true});
                INFO(to_string(point), trials[1].why);
                CHECK(trials[0].verdict == Verdict::sound);
                CHECK(trials[0].residual > 0);
                CHECK(trials[0].seconds.size() == spec.operations.size());
                CHECK(trials[1].verdict == (spoiled ? Verdict::disagrees : Verdict::sound));
            }
        }
}

TEST_CASE("grid sweep: knobs are searched, the decision is wisdom, and a GridPlan takes it") {
    const test::Place place{"grid"};
    const auto report = place.run(tune::grid::point_of(small), test::fast_with("leaf_cells=8"));
    REQUIRE(report.results.size() == 1);
    INFO(report.results[0].why);
    REQUIRE(report.results[0].decision);
    const auto& decision = *report.results[0].decision;
    CHECK(decision.winner == Candidate{"dissection", "fronts:leaf_cells=8"});
    CHECK(decision.gain() == doctest::Approx(2));
    CHECK(decision.trials == 3);
    CHECK(place.run(tune::grid::point_of(small), test::fast_with("leaf_cells=8")).results.at(0).was_decided);

    const auto row = row_of(decision);
    CHECK(key_of(row).find("\tf64\tsolve\tgeneral\t1\tgrid\t") != std::string::npos);
    CHECK(decision_of(row).winner == decision.winner);
    formats::write_file(place.wisdom, write_wisdom({row}));
    const GridPlan plan(small, Device::cpu());
    CHECK(plan.choice().rung == Rung::exact);
    CHECK(plan.choice().row.find("33x17, m = 1, 2 systems") != std::string::npos);
    CHECK(plan.tuning().variant == "fronts:leaf_cells=8");
    CHECK(plan.program().operations.at("factor").size() <
          GridPlan(small, Device::cpu(), {.variant = "fronts"}).program().operations.at("factor").size());
    auto near = small;
    near.width = 40;
    CHECK(GridPlan(near, Device::cpu()).choice().rung == Rung::nearest);
    near.width = 128;
    CHECK(GridPlan(near, Device::cpu()).choice().rung == Rung::model);
    CHECK(GridPlan(small, Device::cpu(), {.workers = 2}).choice().rung == Rung::model);
    CHECK(GridPlan(small, Device::cpu(), {.variant = "fronts"}).choice().rung == Rung::pinned);
}

TEST_CASE("grid sweep: a fast candidate that is wrong does not win, and one that is refused ends nothing") {
    const test::Place place{"grid-time"};
    auto measuring = test::fast_with("leaf_cells=8");
    measuring.spoil = [](const Candidate& candidate, Outputs& outputs) {
        if (candidate.variant.find("leaf_cells=8") != std::string::npos) outputs.values.at("solve").front() += 1;
    };
    const auto wrong = place.run(tune::grid::point_of(small), measuring);
    REQUIRE(wrong.results.at(0).decision);
    CHECK(wrong.results[0].decision->winner == wrong.results[0].decision->standard);
    CHECK(wrong.state.failures.contains(Verdict::disagrees));
    Trial trial;
    trial.point = tune::grid::point_of(small);
    trial.candidate = {"dissection", "fronts:leaf_cells=7"};
    PointBench(trial.point, Device::cpu(), {}).measure(trial, {"first", 1}, true);
    CHECK(trial.verdict == Verdict::refused);
    CHECK(trial.why.find("give one of 4, 5, 6, 8, 16") != std::string::npos);
}
