#include <doctest/doctest.h>

#include <cmath>
#include <trifold/error.hpp>

#include "tests/kernels/cpu/solves.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

/// With open sizes, so that all horizons, batches and schedules of a size of blocks share a unit, whose compilation is what takes time.
const std::string intervals = "intervals:bake=0";

constexpr auto f64 = Precision::f64, f32 = Precision::f32;

void check(Spec spec, Precision precision, const std::string& schedule = "auto", const Target& target = host_target(),
           std::int64_t columns = 0) {
    spec.precision = precision;
    if (columns == 0) columns = spec.rhs;
    if (precision == f64)
        check_solves<double>(spec, schedule, intervals, target, columns);
    else
        check_solves<float>(spec, schedule, intervals, target, columns);
}

Call<double> call_of(const Spec& spec, const std::string& schedule, std::vector<System> systems) {
    return {spec, schedule, std::move(systems), host_target(), intervals};
}

}  // namespace

TEST_CASE("intervals: auto takes them for few systems of small blocks with long horizons") {
    const Target wide{Backend::cpu, "x86-64-v4"}, narrow{Backend::cpu, "x86-64-v3"}, narrowest{Backend::cpu, "x86-64"};
    const auto choice = [](const Spec& spec, const Target& target, int workers = 1) {
        const auto chosen = choose(spec, target, {.workers = workers});
        return chosen.schedule.name + " " + chosen.variant;
    };
    CHECK(choice({.block = 4, .horizon = 48}, wide) == "segments:6 intervals");
    CHECK(choice({.block = 4, .horizon = 47}, wide) == "sequential tile");
    CHECK(choice({.block = 4, .horizon = 64, .precision = Precision::f32}, wide) == "segments:4 intervals");
    CHECK(choice({.block = 1, .horizon = 64, .precision = Precision::f32}, wide) == "sequential tile");
    CHECK(choice({.block = 8, .horizon = 127}, wide) == "sequential tile");
    CHECK(choice({.block = 8, .horizon = 128}, wide) == "segments:16 intervals");
    CHECK(choice({.block = 11, .horizon = 256}, wide) == "segments:32 intervals");
    CHECK(choice({.block = 11, .horizon = 256}, {Backend::cpu, "znver4"}) == "sequential tile");
    CHECK(choice({.block = 4, .horizon = 127}, {Backend::cpu, "znver4"}) == "sequential tile");
    CHECK(choice({.block = 12, .horizon = 9999}, wide) == "sequential tile");
    CHECK(choice({.block = 4, .horizon = 256, .batch = 3}, wide) == "segments:32 intervals");
    CHECK(choice({.block = 4, .horizon = 256, .batch = 4}, wide) == "sequential lanes");
    CHECK(choice({.block = 7, .horizon = 48}, narrow) == "segments:12 intervals");
    CHECK(choice({.block = 7, .horizon = 47}, narrow) == "sequential tile");
    CHECK(choice({.block = 8, .horizon = 9999}, narrow) == "sequential tile");
    CHECK(choice({.block = 4, .horizon = 9999}, narrowest) == "sequential lanes");
    CHECK(choice({.block = 4, .horizon = 8192}, wide, 2) == "segments:512 intervals");  // twice as many chains
    CHECK(choice({.block = 4, .horizon = 127}, wide, 2) == "twisted:2 tile");
    CHECK(choice({.block = 3, .horizon = 256, .operations = all_operations()}, wide) == "segments:32 intervals");
    CHECK(choice({.block = 4, .horizon = 256, .operations = all_operations()}, wide) == "sequential tile");
    CHECK(choice({.block = 5, .horizon = 256, .rhs = 2}, wide) == "segments:32 intervals");
    CHECK(choice({.block = 5, .horizon = 256, .rhs = 3}, wide) == "sequential tile");
    CHECK(choice({.block = 4, .horizon = 256, .rhs = 300}, wide) == "segments:32 intervals");
    CHECK(choice({.block = 4, .horizon = 64, .rhs = 300}, narrow) == "segments:16 intervals");
    CHECK(choose({.block = 4, .horizon = 256}, wide, {.schedule = "sequential"}).variant == "tile");
}

TEST_CASE("intervals: other schedules are refused") {
    for (const std::string schedule : {"twisted:2", "multi-stage", "segments:3,2", "partitioned:3"})
        CHECK_THROWS_AS(choose({.block = 3, .horizon = 40}, host_target(), {.schedule = schedule, .variant = intervals}), SpecError);
    CHECK_THROWS_AS(choose({.block = 17, .horizon = 40}, host_target(), {.variant = intervals}), SpecError);
}

TEST_CASE("intervals: every block size solves") {
    for (const auto precision : {f64, f32}) {
        for (const std::int64_t n : {1, 2}) check({.block = n, .horizon = 41, .rhs = 2}, precision);
        for (const std::int64_t n : {3, 4}) check({.block = n, .horizon = 41}, precision);
    }
    for (const std::int64_t n : {5, 6, 7, 8, 9, 13}) check({.block = n, .horizon = 34}, f64);
    for (const std::int64_t n : {6, 8, 12, 16}) check({.block = n, .horizon = 34}, f32);
}

TEST_CASE("intervals: many right-hand sides, which go in slices, some of which are not full") {
    for (const std::int64_t columns : {3, 4, 2}) check({.block = 1, .horizon = 39, .rhs = 4}, f64, "auto", host_target(), columns);
    for (const auto layout : {RhsLayout::staged, RhsLayout::stacked})
        for (const std::int64_t columns : {64, 37, 3, 2, 1})
            check({.block = 3, .horizon = 39, .rhs = 64, .batch = 2, .rhs_layout = layout}, f64, "segments:4", host_target(), columns);
    for (const std::string schedule : {"sequential", "segments:1", "segments:7", "segments:30"})
        for (const std::int64_t columns : {16, 6})
            check({.block = 12, .horizon = 39, .rhs = 16, .batch = 2}, f32, schedule, host_target(), columns);
}

TEST_CASE("intervals: short and odd horizons solve") {
    int turn = 0;
    for (const std::int64_t horizon : {1, 2, 3, 4, 15, 16, 17, 57, 63, 64, 65})
        check({.block = 3, .horizon = horizon, .batch = 2}, turn++ % 2 == 0 ? f64 : f32);
}

TEST_CASE("intervals: fewer and more chains than lanes, a separator at the end, a short last chain") {
    for (const std::string schedule : {"sequential", "segments:1", "segments:2", "segments:3", "segments:4", "segments:7", "segments:30"})
        for (const auto precision : {f64, f32}) {
            check({.block = 2, .horizon = 44, .rhs = 2}, precision, schedule);
            check({.block = 1, .horizon = 59, .rhs = 2}, precision, schedule);
        }
}

TEST_CASE("intervals: narrower targets solve") {
    const Target narrow{Backend::cpu, "x86-64-v3"}, narrowest{Backend::cpu, "x86-64"};
    for (const std::int64_t n : {1, 6}) check({.block = n, .horizon = 22, .rhs = 2}, f64, "auto", narrowest);
    check({.block = 3, .horizon = 22, .rhs = 2}, f32, "auto", narrowest);
    check({.block = 10, .horizon = 22, .rhs = 5}, f32, "auto", narrowest);
    if (host_target().arch == "x86-64") return;
    for (const std::int64_t n : {1, 6}) check({.block = n, .horizon = 22, .rhs = 2}, f64, "auto", narrow);
    check({.block = 13, .horizon = 22, .rhs = 8}, f64, "auto", narrow);
    for (const std::int64_t n : {3, 9}) check({.block = n, .horizon = 22, .rhs = 2}, f32, "auto", narrow);
}

TEST_CASE("intervals: any layout solves") {
    for (const auto precision : {f64, f32}) {
        Spec spec{.block = 10, .horizon = 37, .rhs = 2, .batch = 2};
        spec.order = Order::column_major;
        check(spec, precision);
        spec.coupling = Coupling::upper;
        spec.rhs_layout = RhsLayout::stacked;
        check(spec, precision);
        spec.d.leading = 13;
        spec.e.leading = 11;
        check(spec, precision);
        spec.order = Order::row_major;
        check(spec, precision);
    }
}

TEST_CASE("intervals: sizes may be literals or not, with the same bits") {
    const Spec spec{.block = 4, .horizon = 70, .rhs = 1, .batch = 2};
    Call<double> open(spec, "auto", 7, host_target(), intervals), literal(spec, "auto", 7, host_target(), "intervals:bake=1");
    open.run(Operation::factor_solve);
    literal.run(Operation::factor_solve);
    CHECK(open.x == literal.x);
}

TEST_CASE("intervals: the same bits however the tasks are cut") {
    const Spec spec{.block = 5, .horizon = 90, .batch = 3};
    Call<double> whole(spec, "segments:2", 7, host_target(), intervals), cut(spec, "segments:2", 7, host_target(), intervals);
    whole.run(Operation::factor_solve);
    cut.run(Operation::factor_solve, {.tasks_per_call = 1, .backwards = true});
    CHECK(whole.x == cut.x);
    for (std::int64_t m = 0; m < 3; ++m) CHECK(whole.buffer<double>("log_determinant")[m] == cut.buffer<double>("log_determinant")[m]);
}

TEST_CASE("intervals: members that are not active are left alone") {
    Call<double> call({.block = 3, .horizon = 40, .batch = 3}, "auto", 7, host_target(), intervals);
    const int active[] = {1, 0, 1};
    call.args.active = active;
    std::fill(call.x.begin(), call.x.end(), -7.0);
    call.run(Operation::factor_solve);
    CHECK(call.residual(0) <= tolerance<double>);
    CHECK(call.residual(2) <= tolerance<double>);
    CHECK((call.solution(1).array() == -7.0).all());
    for (const std::string name : {"status", "factor", "next", "behind", "failure", "log_determinant", "quadratic"}) {
        const auto part = buffer(call.unit.program(), name).bytes / 3;
        for (std::int64_t k = 0; k < part; ++k) REQUIRE(call.buffer<unsigned char>(name)[part + k] == 0xff);
    }
}

TEST_CASE("intervals: the failing block and row are named, in chains and between them, and only that member fails") {
    const Spec spec{.block = 5, .horizon = 39, .rhs = 2, .batch = 3};
    for (const std::int64_t block : {0, 3, 4, 5, 9, 14, 33, 34, 37, 38}) {  // separators are 4, 9, 14 ...
        CAPTURE(block);
        auto systems = random_systems(spec, 2, 5);
        systems[1].d[static_cast<std::size_t>(block)](block % 5, block % 5) = -1;
        auto call = call_of(spec, "segments:4", systems);
        call.run(Operation::factor_solve);
        CHECK(call.status(1).block == block);
        CHECK(call.status(1).row == block % 5);
        CHECK(call.solution(1).array().isNaN().all());
        CHECK(std::isnan(call.buffer<double>("log_determinant")[1]));
        for (const std::int64_t m : {0, 2}) {
            CHECK(call.status(m).block == -1);
            CHECK(call.residual(m) <= tolerance<double>);
        }
        call.systems = random_systems(spec, 2, 5);  // what succeeds clears the failure
        const auto user = arrays<double>(spec, call.systems);
        call.args.d = user.d.data();
        call.run(Operation::factor_solve);
        CHECK(call.status(1).block == -1);
        CHECK(call.residual(1) <= tolerance<double>);
    }
    auto systems = random_systems(spec, 2, 5);
    for (const std::size_t block : {4, 12, 22}) systems[0].d[block](3, 3) = -1;  // 4 is a separator, which is eliminated last
    auto call = call_of(spec, "segments:4", systems);
    call.run(Operation::factor);
    CHECK(call.status(0).block == 12);
    systems = random_systems(spec, 2, 5);
    systems[2].e[17](4, 1) = std::numeric_limits<double>::quiet_NaN();
    auto with_nan = call_of(spec, "segments:4", systems);
    with_nan.run(Operation::factor_solve);
    CHECK(with_nan.status(2).block >= 0);
    CHECK(with_nan.solution(2).array().isNaN().all());
}

TEST_CASE("intervals: a diagonal, a shift and a floor count") {
    const Spec spec{.block = 4, .horizon = 39, .batch = 2};
    auto systems = random_systems(spec, 1, 5);
    std::vector<double> diagonal(2 * 39 * 4), shift{0.5, 3};
    for (std::size_t k = 0; k < diagonal.size(); ++k) diagonal[k] = static_cast<double>(k % 7);
    auto call = call_of(spec, "segments:4", systems);
    call.args.diagonal = diagonal.data();
    call.args.shift = shift.data();
    call.run(Operation::factor_solve);
    for (std::int64_t m = 0; m < 2; ++m) {
        auto a = call.systems[static_cast<std::size_t>(m)].dense();
        for (Eigen::Index k = 0; k < a.rows(); ++k)
            a(k, k) += diagonal[static_cast<std::size_t>(m * a.rows() + k)] + shift[static_cast<std::size_t>(m)];
        CHECK(call.residual(m, a) <= tolerance<double>);
    }
    for (const std::size_t block : {0, 4, 38}) {  // a first pivot of a chain, of a separator without neighbours, and of the last chain
        CAPTURE(block);
        systems = random_systems(spec, 1, 5);
        auto& system = systems[1];
        system.d[block].row(0).setZero();
        system.d[block].col(0).setZero();
        system.d[block](0, 0) = 1e-30;
        if (block + 1 < 39) system.e[block].col(0).setZero();
        if (block > 0) system.e[block - 1].row(0).setZero();
        auto floored = call_of(spec, "segments:4", systems);
        floored.args.pivot_floor = 0.125;
        floored.run(Operation::factor_solve);
        CHECK(floored.status(0).floors == 0);
        CHECK(floored.status(1).floors == 1);
        CHECK(floored.status(1).block == -1);
        auto a = system.dense();
        const auto row = static_cast<Eigen::Index>(block) * 4;
        a(row, row) = 0.125 * system.d[block].diagonal().cwiseAbs().maxCoeff();
        CHECK(floored.residual(1, a) <= tolerance<double>);
    }
}

TEST_CASE("intervals: right-hand sides of zero, and so small that their squares vanish") {
    Spec spec{.block = 3, .horizon = 40};
    auto systems = random_systems(spec, 1, 5);
    systems[0].b.setZero();
    auto zero = call_of(spec, "auto", systems);
    zero.run(Operation::factor_solve);
    CHECK(zero.buffer<double>("quadratic")[0] == 0);
    CHECK((zero.solution(0).array() == 0).all());
    systems[0].b(70, 0) = 1e-200;
    auto tiny = call_of(spec, "auto", systems);
    tiny.run(Operation::factor_solve);
    CHECK(std::isnan(tiny.buffer<double>("quadratic")[0]));
}
