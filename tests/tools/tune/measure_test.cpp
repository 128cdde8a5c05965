#include "tools/tune/measure.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tools/tune/tridiagonal/prepared.hpp"
#include "tools/tune/tridiagonal/spec.hpp"

using namespace trifold;
using namespace trifold::tune;
using tune::tridiagonal::Data;
using tune::tridiagonal::data_bytes;
using tune::tridiagonal::fared;

namespace {

const Round first{"first", 5}, last{"final", 8, true};

Spec small_spec(Precision precision = Precision::f64) {
    return {.block = 4, .horizon = 6, .precision = precision, .batch = 3, .operations = all_operations()};
}
Point point_of(const Spec& spec = small_spec()) { return tune::tridiagonal::point_of(spec); }

Trial trial(const Point& point, const Candidate& candidate) {
    Trial result;
    result.point = point;
    result.candidate = candidate;
    return result;
}

Trial measured(const Point& point, const Candidate& candidate, const MeasureOptions& options = {}) {
    auto result = trial(point, candidate);
    PointBench(point, Device::cpu(), options).measure(result, first, std::numeric_limits<std::int64_t>::max());
    return result;
}

/// The default and another schedule, by turns, and the default again.
std::vector<Trial> by_turns(const Point& point, const MeasureOptions& options = {}) {
    const Candidate standard{"sequential", "tile"}, other{"twisted:2", "tile"};
    std::vector<Trial> trials{trial(point, standard), trial(point, other), trial(point, standard)};
    PointBench(point, Device::cpu(), options).measure_by_turns(trials, last);
    return trials;
}

/// Times that a clock says one after the other; the last again and again.
Timed clock_of(std::vector<double> times) {
    return [times, place = std::size_t{0}]() mutable { return times[std::min(place++, times.size() - 1)]; };
}

}  // namespace

TEST_CASE("measure: all precisions and layouts, with every operation as the objective") {
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
    for (auto spec : {small_spec(), small_spec(Precision::f32), small_spec(Precision::mixed), laid_out, shared, apart}) {
        if (spec.precision == Precision::mixed) spec.operations = {Operation::factor, Operation::solve, Operation::factor_solve};
        auto point = point_of(spec);
        point.objective.clear();
        for (const auto operation : spec.operations) point.objective.emplace_back(to_string(operation), 1);
        const auto result = measured(point, {"twisted:2", "tile"});
        INFO(to_string(point), result.why);
        CHECK(result.verdict == Verdict::sound);
        CHECK(result.residual > 0);
        CHECK(result.residual <= tolerance_of(spec.precision));
        CHECK(result.seconds.size() == point.objective.size());
        for (const auto& [operation, seconds] : result.seconds) CHECK(seconds > 0);
        CHECK(result.runs >= first.runs);
        CHECK(!result.kernels.empty());
        for (const auto& one : by_turns(point)) CHECK_MESSAGE(one.verdict == Verdict::sound, one.why);
    }
}

TEST_CASE("measure: a Spec with one operation, and one whose solution is never asked for") {
    for (const auto operation : {Operation::factor, Operation::factor_solve, Operation::factor_forward}) {
        auto spec = small_spec();
        spec.operations = {operation};
        auto point = point_of(spec);
        point.objective = {{std::string(to_string(operation)), 1}};
        const auto result = measured(point, {"sequential", "tile"});
        INFO(to_string(operation), result.why);
        CHECK(result.verdict == Verdict::sound);
    }
}

TEST_CASE("measure: arrays take turns until they do not fit into caches, but for --hot") {
    const auto device = Device::cpu();
    CHECK(sets_of(point_of(), device, true) == 1);
    CHECK(sets_of(point_of(), device, false) > 100);
    const Spec large{.block = 64, .horizon = 5000};
    CHECK(sets_of(point_of(large), device, false) == 1 + cache_bytes(device) / data_bytes(large));
    DeviceTools tools(device);
    const Data data(small_spec(), 1, tools, 3);
    for (std::int64_t set = 0; set < 3; ++set) CHECK(data.d<double>(set)[1] == data.d<double>()[1]);
    CHECK(data.d<double>(1) != data.d<double>(2));
}

TEST_CASE("measure: the same seed makes the same data, another one others") {
    DeviceTools tools(Device::cpu());
    const Data one(small_spec(), 1, tools), same(small_spec(), 1, tools), other(small_spec(), 2, tools);
    CHECK(one.d<double>()[1] == same.d<double>()[1]);
    CHECK(one.d<double>()[1] != other.d<double>()[1]);
}

TEST_CASE("measure: a candidate with a wrong result is found, whichever operation it is") {
    const auto point = point_of();
    for (const auto& name : {"solve", "factor_solve", "inverse", "inverse, couplings", "log determinant", "quadratic form of forward",
                             "factor_forward and backward"}) {
        MeasureOptions options;
        options.spoil = [&](const Candidate& candidate, Outputs& outputs) {
            REQUIRE(outputs.values.contains(name));
            if (candidate.schedule == "twisted:2") outputs.values[name].back() *= 1.001;
        };
        const auto trials = by_turns(point, options);
        CHECK(trials[0].verdict == Verdict::sound);
        CHECK(trials[1].verdict == Verdict::disagrees);
        CHECK(trials[1].why.find(name) != std::string::npos);
        CHECK(trials[1].seconds.empty());
        CHECK(trials[2].verdict == Verdict::sound);
    }
    MeasureOptions options;
    options.spoil = [](const Candidate& candidate, Outputs& outputs) {
        if (candidate.schedule == "twisted:2") outputs.status.back() = fared({.block = 2});
    };
    CHECK(by_turns(point, options)[1].verdict == Verdict::disagrees);
    options.spoil = [](const Candidate& candidate, Outputs& outputs) {
        outputs.status.back() = fared({.nearly_singular = candidate.schedule == "twisted:2"});
    };
    CHECK(by_turns(point, options)[1].verdict == Verdict::disagrees);
    options.spoil = [](const Candidate& candidate, Outputs& outputs) {
        if (candidate.schedule == "twisted:2") outputs.values["solve"].back() = NAN;
    };
    CHECK(by_turns(point, options)[1].verdict == Verdict::disagrees);
}

TEST_CASE("measure: the least pivot, which depends on the order of elimination, makes no candidate wrong") {
    MeasureOptions options;
    options.spoil = [](const Candidate& candidate, Outputs& outputs) {
        outputs.status.back() = fared({.least_pivot = candidate.schedule == "twisted:2" ? .25 : .5});
    };
    for (const auto& trial : by_turns(point_of(), options)) CHECK_MESSAGE(trial.verdict == Verdict::sound, trial.why);
}

TEST_CASE("measure: what a clock cannot have measured never enters") {
    const Repeats repeats{.warm_up = 0, .least = 3, .most = 3, .seconds = 1};
    const auto nan = std::numeric_limits<double>::quiet_NaN(), infinite = std::numeric_limits<double>::infinity();
    CHECK(take_series(clock_of({0, 2, nan, -1, 3, infinite, 1e-9, 4}), repeats, 1e-6) == std::vector<double>{2, 3, 4});
    CHECK_THROWS_AS(take_series(clock_of({2, 0}), repeats, 1e-6), ClockError);
    CHECK_THROWS_AS(take_series(clock_of({nan}), repeats, 1e-6), ClockError);
    CHECK_THROWS_AS(take_series(clock_of({1e-9}), repeats, 1e-6), ClockError);
    MeasureOptions options;
    options.clock = [](const Candidate&, const Timed&) { return clock_of({0}); };
    const auto result = measured(point_of(), {"sequential", "tile"}, options);
    CHECK(result.verdict == Verdict::fails);
    CHECK(result.why.find("the clock says 0") != std::string::npos);
    CHECK(result.seconds.empty());
}

TEST_CASE("measure: medians, spread and turns of a made-up clock") {
    MeasureOptions options;
    std::string order;
    options.clock = [&](const Candidate& candidate, const Timed&) -> Timed {
        const bool is_standard = candidate.schedule == "sequential";
        return [&order, is_standard, call = 0]() mutable {
            order += is_standard ? 's' : 'o';
            return (is_standard ? 4e-3 : 3e-3) + 1e-4 * (call++ % 3);
        };
    };
    const auto trials = by_turns(point_of(), options);
    // Of each three calls the first warms up: 4.1 and 4.2 ms count, as often as each other.
    CHECK(trials[0].seconds.at("factor_solve") == doctest::Approx(4.15e-3));
    CHECK(trials[1].seconds.at("factor_solve") == doctest::Approx(3.15e-3));
    CHECK(trials[1].spread > 0);
    CHECK(order.starts_with("sssooossssssooosss"));  // with one call to warm up; the second turn goes the other way
}

TEST_CASE("measure: what does not work is a verdict") {
    CHECK(measured(point_of(), {"sequential", "no-such-variant"}).verdict == Verdict::refused);
    const Spec huge{.block = 64, .horizon = 1'000'000'000, .operations = {Operation::factor_solve}};
    const auto device = Device::cpu();
    if (device.memory_bytes() == 0) return;
    const Plan plan(huge, device, {"sequential", "tile"});
    CHECK_THROWS_AS(check_memory(Solver::workspace_bytes(plan), 0, device), TooLarge);
}

TEST_CASE("measure: time decides about what a variant spills by itself, knobs may not spill more") {
    const auto any = std::numeric_limits<std::int64_t>::max();
    const auto of = [](const std::string& variant, std::int64_t bytes, bool is_default = false) {
        auto result = trial(point_of(), {"sequential", variant});
        result.is_default = is_default;
        result.kernels = {{{"spill_bytes", -1}}, {{"spill_bytes", bytes}}};
        return result;
    };
    const auto most = [](const std::string& variant, const std::vector<Trial>& trials) {
        return most_spills({"twisted:2", variant}, trials);
    };
    const std::vector<Trial> trials{of("dataflow", 0, true), of("chains", 24), of("chains:chain_bands=1", 400), of("team", 0)};
    CHECK(most("chains", trials) == any);
    CHECK(most("chains", {of("dataflow", 0, true)}) == any);
    CHECK(most("chains:chain_registers=128", trials) == 24);
    CHECK(most("team:team_warps=4", trials) == 0);
    CHECK(most("tiled:row_vectors=2", trials) == 0);
    CHECK(most("team:team_warps=4", {of("dataflow", 8, true), of("team", 0)}) == any);
    CHECK(most("team:team_warps=4", {}) == any);  // before the default was tried
    auto wrong = of("team", 96);
    wrong.verdict = Verdict::inaccurate;
    CHECK(most("team:team_warps=4", {trials.front(), wrong}) == 0);
}

TEST_CASE("measure: a floor is below what any device takes") {
    const auto device = Device::cpu();
    const auto point = point_of({.block = 32, .horizon = 50});
    auto four = point;
    four.workers = 4;
    CHECK(least_seconds(point, "factor", device) > least_seconds(four, "factor", device));
    CHECK(least_seconds(point, "inverse", device) > 0);
    const auto result = measured(point, {"sequential", "tile"});
    CHECK(result.seconds.at("factor_solve") > least_seconds(point, "factor_solve", device));
}
