#include "tools/tune/measure.hpp"

#include "tests/tools/tune/records.hpp"

using namespace trifold;
using namespace trifold::tune;
using nlohmann::json;
using test::a_point;

namespace {

/// Blocks with all operations, and fields that differ.
json small(const json& fields = json::object()) {
    json spec{{"block", 4}, {"horizon", 6}, {"batch", 3}, {"operations", json::array()}};
    for (const auto& [name, arrays] : tridiagonal_family().operations) spec["operations"].push_back(name);
    spec.update(fields);
    return spec;
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
    for (const auto& fields : {json::object(),
                               {{"precision", "f32"}},
                               {{"precision", "mixed"}, {"operations", {"factor", "solve", "factor_solve"}}},
                               {{"order", "column-major"}, {"coupling", "upper"}, {"rhs_layout", "stacked"}, {"rhs", 2}},
                               {{"d", {{"stage", 0}}}, {"e", {{"member", 0}}}},
                               {{"d", {{"leading", 7}, {"stage", 40}, {"member", 300}}}},
                               {{"batch", 35}}}) {  // more than differ
        const auto point = whole(a_point(small(fields)));
        check_sound(once(point, halves));
        for (const auto& one : by_turns(point)) check_sound(one);
    }
    for (const auto& fields : {json{{"ring", true}},
                               {{"bandwidth", 2}, {"horizon", 13}},
                               {{"bandwidth", 3}, {"coupling", "upper"}, {"order", "column-major"}},
                               {{"bandwidth", 2}, {"ring", true}, {"horizon", 12}},
                               {{"lengths", true}, {"batch", 19}},
                               {{"sizes", true}, {"lengths", true}, {"batch", 3}, {"operations", {"factor", "solve", "factor_solve"}}},
                               {{"ring", true}, {"coupling", "upper"}, {"rhs_layout", "stacked"}, {"precision", "f32"}}})
        for (const auto& one : by_turns(whole(a_point(small(fields))), {}, chain, {"multi-stage", "tile"})) check_sound(one);
    for (const auto* operation : {"factor", "factor_solve", "factor_forward"}) {
        const auto result = once(whole(a_point(small({{"operations", {operation}}}))), chain);
        CHECK_MESSAGE(result.verdict == Verdict::sound, result.why);
    }
}

TEST_CASE("measure: images and sparse systems agree between candidates in every operation, and a wrong gradient is found") {
    std::vector<std::tuple<json, Candidate, Candidate>> cases;
    for (const auto* precision : {"f64", "f32"}) {
        const Candidate fronts{"dissection", "fronts"}, wide{"dissection", "fronts:leaf_cells=8"};
        const json image{{"family", "grid"}, {"width", 33}, {"height", 17}, {"precision", precision}, {"batch", 2}};
        auto symmetric = image;
        symmetric.update({{"matrix", "symmetric"}, {"boundary", "fixed"}, {"batch", 1}});
        for (const auto& one : {image, symmetric}) cases.emplace_back(one, fronts, wide);
        for (const auto* method : {"bicgstab", "cg"})
            cases.emplace_back(json{{"family", "sparse"},
                                    {"mesh", "20x18x14"},
                                    {"block", 2},
                                    {"precision", precision},
                                    {"method", method},
                                    {"rhs", 2},
                                    {"batch", 2}},
                               Candidate{"subdomains", "sweeps"}, Candidate{"subdomains", "sweeps:slice_scalars=2048,tile_scalars=4096"});
    }
    for (auto& [spec, standard, other] : cases)
        for (const bool poisoned : {false, true}) {
            spec["operations"] = json::array();
            for (const auto& [name, arrays] : family_of(spec).operations) spec["operations"].push_back(name);
            MeasureOptions options;
            if (poisoned)
                options.poison = [&other = other](const Candidate& candidate, Outputs& outputs) {
                    if (candidate == other) outputs.values.at("gradient").back() += 1;
                };
            const auto trials = by_turns(whole(a_point(spec)), options, standard, other);
            check_sound(trials[0]);
            CHECK_MESSAGE(trials[1].verdict == (poisoned ? Verdict::disagrees : Verdict::sound), trials[1].why);
        }
    auto rows = a_point({{"family", "sparse"}, {"rows", 3000}, {"entries", 20000}});  // of which sizes alone are known
    rows.objective = {{"solve", 1}};
    check_sound(once(rows, {"subdomains", "sweeps"}));
}

TEST_CASE("measure: a candidate with a wrong result is found, whichever operation it is") {
    const auto point = a_point(small());
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
            CHECK(says(trials[1].why, name));
            CHECK(trials[1].seconds.empty());
        }
    MeasureOptions options;
    options.poison = [](const Candidate& candidate, Outputs& outputs) {
        if (candidate == halves) outputs.status.back() += ".";
    };
    CHECK(says(by_turns(point, options)[1].why, "status"));
}

TEST_CASE("measure: arrays take turns until they do not fit into caches, but for --hot, and a seed makes the same data again") {
    const auto device = Device::cpu();
    const auto point = a_point(small());
    CHECK(sets_of(point, device, true) == 1);
    CHECK(sets_of(point, device, false) > 100);
    CHECK(sets_of(test::blocks(64, 50'000), device, false) == 1);
    DeviceTools tools(device);
    const PointData one(point, 1, tools, 3), same(point, 1, tools, 3), other(point, 2, tools, 3);
    const auto d = [](const PointData& of, std::int64_t set) { return static_cast<const double*>(of.at("d", set).data); };
    for (std::int64_t set = 0; set < 3; ++set) CHECK(d(one, set)[1] == d(one, 0)[1]);
    CHECK(d(one, 1) != d(one, 2));
    CHECK(d(one, 0)[1] == d(same, 0)[1]);
    CHECK(d(one, 0)[1] != d(other, 0)[1]);
}

TEST_CASE("measure: what a clock cannot have measured never enters") {
    const Repeats repeats{.warm_up = 0, .least = 3, .most = 3, .seconds = 1};
    const auto nan = std::numeric_limits<double>::quiet_NaN(), infinite = std::numeric_limits<double>::infinity();
    CHECK(take_series(clock_of({0, 2, nan, -1, 3, infinite, 1e-9, 4}), repeats, 1e-6) == std::vector<double>{2, 3, 4});
    for (const auto time : {0.0, nan, 1e-9}) CHECK_THROWS_AS(take_series(clock_of({2, time}), repeats, 1e-6), DeviceError);
    MeasureOptions options;
    options.clock = [](const Candidate&, const Timed&) { return clock_of({0}); };
    const auto result = once(a_point(small()), chain, options);
    CHECK(result.verdict == Verdict::fails);
    CHECK(says(result.why, "the clock says 0"));
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
    const auto trials = by_turns(a_point(small()), options);
    // The first of each three calls warms up: 4.1 and 4.2 ms count, as often as each other.
    CHECK(trials[0].seconds.at("factor_solve") == doctest::Approx(4.15e-3));
    CHECK(trials[1].seconds.at("factor_solve") == doctest::Approx(3.15e-3));
    CHECK(trials[1].spread > 0);
    CHECK(order.starts_with("sssooossssssooosss"));  // with one call to warm up; the second turn goes the other way
}

TEST_CASE("measure: what does not work is a verdict, and it ends nothing") {
    const auto point = a_point(small());
    const auto trials = by_turns(point, {}, chain, {"sequential", "no-such-variant"});
    CHECK(trials[1].verdict == Verdict::refused);
    CHECK(trials[2].verdict == Verdict::sound);
    const auto image = a_point({{"family", "grid"}, {"width", 9}, {"height", 9}});
    CHECK(once(image, {"dissection", "fronts:leaf_cells=7"}).verdict == Verdict::refused);
    const auto huge = test::blocks(64, 1000, 100'000);  // 6 TB
    CHECK(once(huge, chain).verdict == Verdict::too_large);
    Trial one;
    one.point = point;
    one.candidate = chain;
    PointBench(point, Device::cpu(), {}).measure(std::span(&one, 1), {"knobs", 5}, -1);  // less than nothing may be spilled
    CHECK(one.verdict == Verdict::spilled);
}
