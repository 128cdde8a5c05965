#include "tools/tune/measure.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <trifold/error.hpp>

#include "generator/sparse/fields.hpp"
#include "tools/tune/grid/family.hpp"
#include "tools/tune/sparse/family.hpp"
#include "tools/tune/tridiagonal/family.hpp"

using namespace trifold;
using namespace trifold::tune;

namespace {

Spec small_spec(Precision precision = Precision::f64) {
    return {.block = 4, .horizon = 6, .precision = precision, .batch = 3, .operations = all_operations()};
}
const Candidate chain{"sequential", "tile"}, halves{"twisted:2", "tile"};

std::vector<Trial> measured(const Point& point, const std::vector<Candidate>& candidates, const Round& round,
                            const MeasureOptions& options = {}) {
    std::vector<Trial> trials;
    for (const auto& candidate : candidates) {
        auto& trial = trials.emplace_back();
        trial.point = point;
        trial.candidate = candidate;
    }
    PointBench(point, Device::cpu(), options).measure(trials, round);
    return trials;
}

/// The first, the second, and the first again.
std::vector<Trial> by_turns(const Point& point, const MeasureOptions& options = {}, const Candidate& first = chain,
                            const Candidate& second = halves) {
    return measured(point, {first, second, first}, {"final", 8, true}, options);
}

Trial once(const Point& point, const Candidate& candidate, const MeasureOptions& options = {}) {
    return measured(point, {candidate}, {"first", 5}, options).front();
}

/// With all operations as the objective.
Point whole(Point point) {
    point.objective.clear();
    for (const auto& operation : point.spec.at("operations")) point.objective.emplace_back(operation, 1);
    return point;
}

/// Times that a clock says one after the other; the last again and again.
Timed clock_of(std::vector<double> times) {
    return [times, place = std::size_t{0}]() mutable { return times[std::min(place++, times.size() - 1)]; };
}

void check_sound(const Trial& trial) {
    INFO(to_string(trial.point), trial.why);
    CHECK(trial.verdict == Verdict::sound);
    CHECK(trial.residual > 0);
    CHECK(trial.residual <= family_of(trial.point).tolerance(precision_of(trial.point)));
    CHECK(trial.seconds.size() == trial.point.objective.size());
    for (const auto& [operation, seconds] : trial.seconds) CHECK(seconds > 0);
    CHECK(trial.runs >= 5);
}

}  // namespace

TEST_CASE("measure: all precisions and layouts of blocks, with every operation as the objective") {
    auto laid_out = small_spec();
    laid_out.order = Order::column_major;
    laid_out.coupling = Coupling::upper;
    laid_out.rhs_layout = RhsLayout::stacked;
    laid_out.rhs = 2;
    auto shared = small_spec();
    shared.d = {.stage = 0};
    shared.e = {.member = 0};
    auto apart = small_spec();
    apart.d = {.leading = 7, .stage = 40, .member = 300};
    auto many = small_spec();
    many.batch = 35;  // more than differ
    for (auto spec : {small_spec(), small_spec(Precision::f32), small_spec(Precision::mixed), laid_out, shared, apart, many}) {
        if (spec.precision == Precision::mixed) spec.operations = {Operation::factor, Operation::solve, Operation::factor_solve};
        const auto point = whole(tune::tridiagonal::point_of(spec));
        check_sound(once(point, halves));
        for (const auto& one : by_turns(point)) check_sound(one);
    }
    for (const auto operation : {Operation::factor, Operation::factor_solve, Operation::factor_forward}) {
        auto spec = small_spec();
        spec.operations = {operation};
        const auto result = once(whole(tune::tridiagonal::point_of(spec)), chain);
        CHECK_MESSAGE(result.verdict == Verdict::sound, result.why);
    }
}

TEST_CASE("measure: images and sparse systems agree between candidates in every operation, and a wrong gradient is found") {
    std::vector<std::tuple<Point, Candidate, Candidate>> cases;
    for (const auto precision : {Precision::f64, Precision::f32}) {
        const Candidate fronts{"dissection", "fronts"}, wide{"dissection", "fronts:leaf_cells=8"};
        cases.emplace_back(tune::grid::point_of({.width = 33, .height = 17, .precision = precision, .batch = 2}), fronts, wide);
        cases.emplace_back(
            tune::grid::point_of(
                {.width = 33, .height = 17, .precision = precision, .matrix = GridMatrix::symmetric, .boundary = GridBoundary::fixed}),
            fronts, wide);
        for (const auto method : {SparseMethod::bicgstab, SparseMethod::cg})
            cases.emplace_back(
                tune::sparse::point_of({.block = 2, .precision = precision, .method = method, .rhs = 2, .batch = 2}, {20, 18, 14}),
                Candidate{"subdomains", "sweeps"}, Candidate{"subdomains", "sweeps:slice_scalars=2048,tile_scalars=4096"});
    }
    for (const auto& [point, standard, other] : cases)
        for (const bool poisoned : {false, true}) {
            MeasureOptions options;
            if (poisoned)
                options.poison = [&other = other](const Candidate& candidate, Outputs& outputs) {
                    if (candidate == other) outputs.values.at("gradient").back() += 1;
                };
            const auto trials = by_turns(whole(point), options, standard, other);
            check_sound(trials[0]);
            CHECK_MESSAGE(trials[1].verdict == (poisoned ? Verdict::disagrees : Verdict::sound), trials[1].why);
        }
    const Point rows{.spec = trifold::sparse::to_json({{}, {3000, 20000, {}}}),
                     .objective = {{"solve", 1}}};  // of which sizes alone are known
    check_sound(once(rows, {"subdomains", "sweeps"}));
}

TEST_CASE("measure: a candidate with a wrong result is found, whichever operation it is") {
    const auto point = tune::tridiagonal::point_of(small_spec());
    for (const auto* name : {"solve", "factor_solve", "inverse", "couplings of the inverse", "log determinant",
                             "quadratic form of forward and backward", "factor_forward and backward"})
        for (const double wrong : {1.001, std::nan("")}) {
            MeasureOptions options;
            options.poison = [&](const Candidate& candidate, Outputs& outputs) {
                REQUIRE(outputs.values.contains(name));
                if (candidate == halves) outputs.values[name].back() *= wrong;
            };
            const auto trials = by_turns(point, options);
            CHECK(trials[0].verdict == Verdict::sound);
            CHECK(trials[1].verdict == Verdict::disagrees);
            CHECK(trials[1].why.find(name) != std::string::npos);
            CHECK(trials[1].seconds.empty());
        }
    MeasureOptions options;
    options.poison = [](const Candidate& candidate, Outputs& outputs) {
        if (candidate == halves) outputs.status.back() += ".";
    };
    CHECK(by_turns(point, options)[1].why.find("status") != std::string::npos);
}

TEST_CASE("measure: arrays take turns until they do not fit into caches, but for --hot, and a seed makes the same data again") {
    const auto device = Device::cpu();
    const auto point = tune::tridiagonal::point_of(small_spec());
    CHECK(sets_of(point, device, true) == 1);
    CHECK(sets_of(point, device, false) > 100);
    CHECK(sets_of(tune::tridiagonal::point_of({.block = 64, .horizon = 50'000}), device, false) == 1);
    DeviceTools tools(device);
    const auto data = [&](std::uint64_t seed) { return tune::tridiagonal::make_data(small_spec(), seed, tools, 3); };
    const auto one = data(1), same = data(1), other = data(2);
    const auto first = [](const PointData& of, std::int64_t set) { return static_cast<const double*>(of.arrays.pointer("d", set)); };
    for (std::int64_t set = 0; set < 3; ++set) CHECK(first(*one, set)[1] == first(*one, 0)[1]);
    CHECK(first(*one, 1) != first(*one, 2));
    CHECK(first(*one, 0)[1] == first(*same, 0)[1]);
    CHECK(first(*one, 0)[1] != first(*other, 0)[1]);
}

TEST_CASE("measure: what a clock cannot have measured never enters") {
    const Repeats repeats{.warm_up = 0, .least = 3, .most = 3, .seconds = 1};
    const auto nan = std::numeric_limits<double>::quiet_NaN(), infinite = std::numeric_limits<double>::infinity();
    CHECK(take_series(clock_of({0, 2, nan, -1, 3, infinite, 1e-9, 4}), repeats, 1e-6) == std::vector<double>{2, 3, 4});
    for (const auto time : {0.0, nan, 1e-9}) CHECK_THROWS_AS(take_series(clock_of({2, time}), repeats, 1e-6), ClockError);
    MeasureOptions options;
    options.clock = [](const Candidate&, const Timed&) { return clock_of({0}); };
    const auto result = once(tune::tridiagonal::point_of(small_spec()), chain, options);
    CHECK(result.verdict == Verdict::fails);
    CHECK(result.why.find("the clock says 0") != std::string::npos);
    CHECK(result.seconds.empty());
}

TEST_CASE("measure: medians, spread and turns of a made-up clock") {
    MeasureOptions options;
    std::string order;
    options.clock = [&](const Candidate& candidate, const Timed&) -> Timed {
        const bool is_standard = candidate == chain;
        return [&order, is_standard, call = 0]() mutable {
            order += is_standard ? 's' : 'o';
            return (is_standard ? 4e-3 : 3e-3) + 1e-4 * (call++ % 3);
        };
    };
    const auto trials = by_turns(tune::tridiagonal::point_of(small_spec()), options);
    // The first of each three calls warms up: 4.1 and 4.2 ms count, as often as each other.
    CHECK(trials[0].seconds.at("factor_solve") == doctest::Approx(4.15e-3));
    CHECK(trials[1].seconds.at("factor_solve") == doctest::Approx(3.15e-3));
    CHECK(trials[1].spread > 0);
    CHECK(order.starts_with("sssooossssssooosss"));  // with one call to warm up; the second turn goes the other way
}

TEST_CASE("measure: what does not work is a verdict, and it ends nothing") {
    const auto point = tune::tridiagonal::point_of(small_spec());
    const auto trials = by_turns(point, {}, chain, {"sequential", "no-such-variant"});
    CHECK(trials[1].verdict == Verdict::refused);
    CHECK(trials[2].verdict == Verdict::sound);
    CHECK(once(tune::grid::point_of({.width = 9, .height = 9}), {"dissection", "fronts:leaf_cells=7"}).verdict == Verdict::refused);
    const auto device = Device::cpu();
    if (device.memory_bytes() > 0) CHECK_THROWS_AS(check_memory(device.memory_bytes(), 0, device), TooLarge);
    std::vector<Trial> one(1);
    one[0].point = point;
    one[0].candidate = chain;
    PointBench(point, device, {}).measure(one, {"knobs", 5}, -1);  // less than nothing may be spilled
    CHECK(one[0].verdict == Verdict::spilled);
}
