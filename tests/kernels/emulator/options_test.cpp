// Results of a call other than the solution, and matrices that are not positive definite.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <utility>

#include "generator/tridiagonal/design.hpp"
#include "tests/kernels/emulator/fixture.hpp"
#include "tests/support/cpu/walks.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

struct Way {
    std::string variant, schedule;
};
/// Every variant with these schedules, or with the one that it is for.
std::vector<Way> ways(const std::vector<std::string>& schedules) {
    std::vector<Way> result{{"dataflow", "multi-stage"}};
    for (const std::string variant : {"fused", "tiled", "tile-dataflow", "team"})
        for (const auto& schedule : schedules) result.push_back({variant, schedule});
    return result;
}

template <class Real>
struct CaseOf {
    CaseOf(const Spec& given, const std::string& schedule, const std::string& variant, unsigned seed,
           const std::string& target = "cuda:sm_90")
        : spec(given),
          unit(choose(spec, parse_target(target), {.schedule = schedule, .variant = variant})),
          systems(random_systems(spec, seed)),
          user(arrays<Real>(spec, systems)),
          workspace(unit.program()),
          x(user.b.size(), 7.0) {}
    trifold_args args() { return arguments(spec, user, x, workspace); }
    trifold_status status(std::int64_t member) { return workspace.buffer<trifold_status>(unit.program(), "status")[member]; }
    double log_determinant(std::int64_t member) { return workspace.buffer<double>(unit.program(), "log_determinant")[member]; }
    Real& d(std::int64_t member, std::int64_t block, std::int64_t r, std::int64_t c) {
        return user.d[static_cast<std::size_t>(((member * spec.horizon + block) * spec.block + r) * spec.block + c)];
    }
    Matrix solution(std::int64_t member) { return gather(spec, x, member, spec.rhs); }
    bool solves(std::int64_t member) {
        const auto& system = systems[static_cast<std::size_t>(member)];
        return relative_residual(system.dense(), solution(member), system.b) <= tolerance<Real>;
    }
    Spec spec;
    EmulatedUnit unit;
    std::vector<System> systems;
    Arrays<Real> user;
    EmulatedWorkspace workspace;
    std::vector<Real> x;
};
using Case = CaseOf<double>;

/// A pivot that is negative for one run is named, and all of X is NaN.
template <class Real>
void check_failure(CaseOf<Real>& test, std::int64_t block, std::int64_t row) {
    CAPTURE(block);
    CAPTURE(row);
    const auto sound = std::exchange(test.d(0, block, row, row), Real(-1e6));
    test.unit.run(Operation::factor_solve, test.args());
    test.d(0, block, row, row) = sound;
    CHECK(test.status(0).block == block);
    CHECK(test.status(0).row == row);
    CHECK(test.solution(0).array().isNaN().all());
}

template <class Real>
void check_failed_messages(const Spec& spec) {
    CaseOf<Real> test(spec, "multi-stage", "dataflow", 8);
    REQUIRE(buffer(test.unit.program(), "message").bytes > 0);
    for (const std::int64_t row : {std::int64_t{0}, std::int64_t{9}, spec.block - 1})
        for (const std::int64_t block : {0, 5, 10}) check_failure(test, block, row);
    test.unit.run(Operation::factor_solve, test.args());
    CHECK(test.status(0).block == -1);
    CHECK(test.solves(0));
    for (const auto& finding : test.unit.findings()) FAIL_CHECK(finding);
}

}  // namespace

TEST_CASE("emulated: a failed member is named, all of it is NaN, and the others are solved") {
    for (const auto& [variant, schedule] : ways({"sequential", "twisted:3", "multi-stage"})) {
        Case test({.block = 10, .horizon = 9, .batch = 3}, schedule, variant, 3);
        for (const std::int64_t block : {0, 4, 8}) {
            CAPTURE(variant);
            CAPTURE(schedule);
            CAPTURE(block);
            const auto sound = std::exchange(test.d(1, block, 8, 8), -1e6);
            test.unit.run(Operation::factor_solve, test.args());
            test.d(1, block, 8, 8) = sound;
            CHECK(test.status(1).block == block);
            CHECK(test.status(1).row == 8);
            CHECK(std::isnan(test.log_determinant(1)));
            CHECK(test.solution(1).array().isNaN().all());
            for (const std::int64_t m : {0, 2}) {
                CHECK(test.status(m).block == -1);
                CHECK(test.solves(m));
            }
        }
    }
}

TEST_CASE("emulated: what waits for the messages of a failed front is NaN, whichever column tile failed") {
    check_failed_messages<double>({.block = 20, .horizon = 11});
    check_failed_messages<float>({.block = 31, .horizon = 11, .precision = Precision::f32});
}

TEST_CASE("emulated: a failed row is found in fronts that flow whose lanes have several rows") {
    CaseOf<float> test({.block = 72, .horizon = 5, .precision = Precision::f32}, "multi-stage", "dataflow", 9);
    for (const std::int64_t row : {0, 39, 71})
        for (const std::int64_t block : {0, 1, 3}) check_failure(test, block, row);
    test.unit.run(Operation::factor_solve, test.args());
    CHECK(test.status(0).block == -1);
    CHECK(test.solves(0));
    for (const auto& finding : test.unit.findings()) FAIL_CHECK(finding);
}

TEST_CASE("emulated: a front that gets messages tells of a failed one that it only pulls from") {
    Case test({.block = 20, .horizon = 5}, "multi-stage", "dataflow", 8);  // block 3 pulls from block 4, which no child of its has met
    REQUIRE(buffer(test.unit.program(), "message").bytes > 0);
    for (const std::int64_t row : {0, 19}) check_failure(test, 4, row);
    for (const auto& finding : test.unit.findings()) FAIL_CHECK(finding);
}

TEST_CASE("emulated: fronts of wide levels have all that a call may ask for, and their failures are told") {
    for (const auto& [order, coupling] :
         {std::pair{trifold::Order::row_major, Coupling::upper}, {trifold::Order::column_major, Coupling::lower}}) {
        const Spec spec{.block = 37, .horizon = 9, .batch = 232, .order = order, .coupling = coupling, .e = {.leading = 41}};
        Case test(spec, "multi-stage", "dataflow", 14);
        REQUIRE(has_kernel(design(test.unit.choice()), Phase::factor_wide));
        std::vector<double> diagonal(232 * 9 * 37, 0.5);
        const std::vector<double> shift(232, 0.25);
        auto args = test.args();
        args.members = 1, args.diagonal = diagonal.data(), args.shift = shift.data();
        for (const std::int64_t block : {0, 1, 3, 6, 7, 8})
            for (const std::int64_t row : {0, 9, 36}) {
                CAPTURE(block);
                auto& given = diagonal[static_cast<std::size_t>(block * 37 + row)];
                given = -1e6;
                test.unit.run(Operation::factor_solve, args);
                given = 0.5;
                CHECK(test.status(0).block == block);
                CHECK(test.status(0).row == row);
                CHECK(test.solution(0).array().isNaN().all());
            }
        test.unit.run(Operation::factor_solve, args);
        CHECK(test.status(0).block == -1);
        for (auto& d : test.systems[0].d) d.diagonal().array() += 0.75;
        CHECK(test.solves(0));
        for (const auto& finding : test.unit.findings()) FAIL_CHECK(finding);
    }
}

TEST_CASE("emulated: chains have all that a call may ask for, and their failures are told") {
    struct Way {
        trifold::Order order;
        Coupling coupling;
        const char *schedule, *variant;
    };
    for (const auto& [order, coupling, schedule, variant] :
         {Way{trifold::Order::row_major, Coupling::upper, "twisted:2", "chains"},
          Way{trifold::Order::column_major, Coupling::upper, "sequential", "chains:chain_teams=1"},
          Way{trifold::Order::column_major, Coupling::lower, "sequential", "chains:chain_teams=1,chain_helper=0"}}) {
        const Spec spec{.block = 21, .horizon = 7, .batch = 3, .order = order, .coupling = coupling, .e = {.leading = 24}};
        Case test(spec, schedule, variant, 15);
        std::vector<double> diagonal(3 * 7 * 21, 0.5);
        const std::vector<double> shift(3, 0.25);
        const std::vector<int> active{1, 0, 1};
        auto args = test.args();
        args.diagonal = diagonal.data(), args.shift = shift.data(), args.active = active.data();
        for (const std::int64_t block : {0, 2, 3, 4, 6})
            for (const std::int64_t row : {0, 9, 20}) {
                CAPTURE(block);
                auto& given = diagonal[static_cast<std::size_t>(block * 21 + row)];
                given = -1e6;
                test.unit.run(Operation::factor_solve, args);
                given = 0.5;
                CHECK(test.status(0).block == block);
                CHECK(test.status(0).row == row);
                CHECK(std::isnan(test.log_determinant(0)));
                CHECK(test.solution(0).array().isNaN().all());
                CHECK((test.solution(1).array() == 7.0).all());  // masked
                CHECK(test.status(2).block == -1);
            }
        test.unit.run(Operation::factor_solve, args);
        for (const std::int64_t member : {0, 2}) {
            CHECK(test.status(member).block == -1);
            for (auto& d : test.systems[static_cast<std::size_t>(member)].d) d.diagonal().array() += 0.75;
            CHECK(test.solves(member));
        }
        args.pivot_floor = 1e-3;
        diagonal[3] = -1e6;
        test.unit.run(Operation::factor_solve, args);
        CHECK(test.status(0).block == -1);
        CHECK(test.status(0).floors >= 1);
        for (const auto& finding : test.unit.findings()) FAIL_CHECK(finding);
    }
}

TEST_CASE("emulated: a failed row is found in every tile of a block") {
    for (const auto& [target, edge] : {std::pair{"cuda:sm_90", 64}, std::pair{"hip:gfx942", 32}}) {
        Case test({.block = edge + 6, .horizon = 2}, "multi-stage", "tile-dataflow", 4, target);
        for (const std::int64_t row : {0, edge - 1, edge, edge + 5})
            for (const std::int64_t block : {0, 1}) {
                CAPTURE(target);
                check_failure(test, block, row);
            }
        test.unit.run(Operation::factor_solve, test.args());
        CHECK(test.status(0).block == -1);
        CHECK(test.solves(0));
    }
}

TEST_CASE("emulated: pivots that are zero, infinite or NaN, or whose reciprocals are, fail, and other tiny ones pass") {
    const auto infinity = std::numeric_limits<double>::infinity();
    for (const double pivot : {0.0, -1.0, infinity, std::nan(""), 1e-310, 0x1p-1024, std::nextafter(0x1p-1024, 1.0), 1e-308, 1e300}) {
        CAPTURE(pivot);
        Case test({.block = 1, .horizon = 1}, "sequential", "fused", 1);
        test.user.d[0] = pivot;
        test.unit.run(Operation::factor, test.args());
        const bool passes = pivot > 0 && pivot < infinity && 1 / pivot < infinity;
        CHECK(test.status(0).block == (passes ? -1 : 0));
        if (passes) CHECK(test.log_determinant(0) == doctest::Approx(std::log(pivot)).epsilon(1e-14));
    }
}

TEST_CASE("emulated: masked members and members beyond the call are untouched") {
    for (const auto& [variant, schedule] : ways({"partitioned:2"})) {
        Case test({.block = 5, .horizon = 6, .rhs = 2, .batch = 4}, schedule, variant, 5);
        const int active[] = {1, 0, 1, 1};
        auto args = test.args();
        args.active = active;
        args.members = 3;
        test.unit.run(Operation::factor_solve, args);
        CHECK(test.solves(0));
        CHECK(test.solves(2));
        for (const std::int64_t m : {1, 3}) CHECK(test.solution(m) == Matrix::Constant(30, 2, 7.0));
    }
}

TEST_CASE("emulated: fewer columns than the Spec's") {
    for (const std::int64_t columns : {1, 8, 9}) {
        Case test({.block = 9, .horizon = 5, .rhs = 11}, "twisted:2", "fused", 6);
        auto args = test.args();
        args.columns = columns;
        test.unit.run(Operation::factor_solve, args);
        const auto solved = test.solution(0);
        const Matrix b = test.systems[0].b;
        CHECK(relative_residual(test.systems[0].dense(), solved.leftCols(columns), b.leftCols(columns)) <= tolerance<double>);
        CHECK(solved.rightCols(11 - columns) == Matrix::Constant(45, 11 - columns, 7.0));
    }
}

TEST_CASE("emulated: diagonals and shifts are added where D is loaded") {
    for (const auto& [variant, schedule] : ways({"sequential", "multi-stage"})) {
        Case test({.block = 6, .horizon = 7, .batch = 2}, schedule, variant, 8);
        std::vector<double> diagonal(2 * 7 * 6);
        for (std::size_t k = 0; k < diagonal.size(); ++k) diagonal[k] = 0.25 * static_cast<double>(k % 5);
        const double shift[] = {0.5, 2.0};
        auto args = test.args();
        args.diagonal = diagonal.data();
        args.shift = shift;
        test.unit.run(Operation::factor_solve, args);
        for (std::int64_t m = 0; m < 2; ++m) {
            for (std::int64_t i = 0; i < 7; ++i)
                for (std::int64_t r = 0; r < 6; ++r)
                    test.systems[static_cast<std::size_t>(m)].d[static_cast<std::size_t>(i)](r, r) +=
                        diagonal[static_cast<std::size_t>((m * 7 + i) * 6 + r)] + shift[m];
            CHECK(test.solves(m));
        }
    }
}

TEST_CASE("emulated: pivots below the floor are raised and counted") {
    for (const auto& [variant, schedule] : ways({"sequential"})) {
        // A block of ones has one good pivot, and another where an entry is 2, its largest; the rest is zero. The second block is sound.
        Case test({.block = 9, .horizon = 2}, schedule, variant, 9);
        for (std::int64_t r = 0; r < 9; ++r)
            for (std::int64_t c = 0; c <= r; ++c) test.d(0, 0, r, c) = 1;
        test.d(0, 0, 4, 4) = 2;
        for (auto& value : test.user.e) value = 0;
        auto args = test.args();
        args.pivot_floor = 1e-3;
        test.unit.run(Operation::factor, args);
        CHECK(test.status(0).block == -1);
        CHECK(test.status(0).floors == 7);
        const double expected = 7 * std::log(2e-3) + 2 * test.systems[0].d[1].llt().matrixLLT().diagonal().array().log().sum();
        CHECK(test.log_determinant(0) == doctest::Approx(expected).epsilon(1e-13));
    }
}

TEST_CASE("emulated: every layout") {
    for (const auto& [variant, schedule] : ways({"twisted:3"}))
        for (const auto order : {trifold::Order::row_major, trifold::Order::column_major})
            for (const auto coupling : {Coupling::lower, Coupling::upper}) {
                // Two of the four have every order of D and of E.
                if (variant == "tile-dataflow" && (order == trifold::Order::row_major) == (coupling == Coupling::lower)) continue;
                Case test({.block = 10,
                           .horizon = 6,
                           .rhs = 2,
                           .batch = 2,
                           .order = order,
                           .coupling = coupling,
                           .rhs_layout = RhsLayout::stacked,
                           .d = {.leading = 11, .stage = 123},
                           .e = {.leading = 13}},
                          schedule, variant, 10);
                test.unit.run(Operation::factor_solve, test.args());
                CHECK(test.solves(0));
                CHECK(test.solves(1));
            }
}

TEST_CASE("emulated: blocks without gaps, in arrays that are aligned to elements only and to more") {
    for (const auto& [variant, schedule] : ways({"twisted:3"}))
        for (const auto order : {trifold::Order::row_major, trifold::Order::column_major})
            for (const std::size_t shift : {0, 1}) {
                CAPTURE(variant);
                Case test({.block = 12, .horizon = 5, .batch = 2, .order = order}, schedule, variant, 3);
                for (auto* values : {&test.user.d, &test.user.e, &test.user.b}) values->insert(values->begin(), shift, 0.0);
                auto args = test.args();
                for (const auto** array : {&args.d, &args.e, &args.b}) *array = static_cast<const double*>(*array) + shift;
                test.unit.run(Operation::factor_solve, args);
                CHECK(test.solves(0));
                CHECK(test.solves(1));
                for (const auto& finding : test.unit.findings()) FAIL_CHECK(finding);
            }
}

TEST_CASE("emulated: a member's bits depend on nothing else") {
    for (const auto& [variant, schedule] : ways({"twisted:3"})) {
        Case test({.block = 12, .horizon = 7, .batch = 3}, schedule, variant, 11);
        for (auto* values : {&test.user.d, &test.user.e, &test.user.b}) {
            const auto each = values->size() / 3;
            std::copy_n(values->begin(), each, values->begin() + static_cast<std::ptrdiff_t>(2 * each));
        }
        test.unit.run(Operation::factor_solve, test.args());
        CHECK(test.solution(0) == test.solution(2));
        CHECK(test.solution(0) != test.solution(1));
    }
}

TEST_CASE("emulated: x may be b") {
    Case test({.block = 7, .horizon = 9, .rhs = 3}, "twisted:3", "fused", 12);
    auto args = test.args();
    test.x = test.user.b;
    args.b = args.x;
    test.unit.run(Operation::factor_solve, args);
    CHECK(test.solves(0));
}

namespace {

template <class Real>
void check_walks_of(Spec spec, const std::string& schedule, const std::string& variant, const std::string& target = "cuda:sm_90") {
    spec.precision = sizeof(Real) == 8 ? Precision::f64 : Precision::f32;
    CAPTURE(variant);
    CAPTURE(target);
    CaseOf<Real> test(spec, schedule, variant, 1, target);
    check_walks(spec, [&](const std::vector<System>& systems, bool accept) {
        test.user = arrays<Real>(spec, systems);
        auto args = test.args();
        args.accept_nearly_singular = accept;
        test.unit.run(Operation::factor_solve, args);
        const auto* first = test.workspace.template buffer<trifold_status>(test.unit.program(), "status");
        return std::vector<trifold_status>(first, first + spec.batch);
    });
    for (const auto& finding : test.unit.findings()) FAIL_CHECK(finding);
}

}  // namespace

TEST_CASE("emulated: random walks without an anchor are nearly singular or not positive definite, and with a weak one sound") {
    check_walks_of<double>({.block = 3, .horizon = 50, .batch = 12}, "twisted:2", "team");
    check_walks_of<float>({.block = 6, .horizon = 7, .batch = 12}, "sequential", "team", "hip:gfx942");
    check_walks_of<float>({.block = 1, .horizon = 7, .batch = 8}, "multi-stage", "fused");
    check_walks_of<double>({.block = 5, .horizon = 7, .batch = 4}, "partitioned:3", "tiled");
    check_walks_of<float>({.block = 6, .horizon = 7, .batch = 8}, "multi-stage", "dataflow");
    check_walks_of<double>({.block = 9, .horizon = 7, .batch = 8}, "multi-stage", "dataflow", "hip:gfx942");
    check_walks_of<double>({.block = 2, .horizon = 7, .batch = 4}, "twisted:3", "tile-dataflow");
    check_walks_of<double>({.block = 17, .horizon = 5, .batch = 4}, "twisted:2", "chains");
    check_walks_of<float>({.block = 18, .horizon = 5, .batch = 4}, "sequential", "chains:chain_teams=1,chain_helper=0");
    check_walks_of<double>({.block = 33, .horizon = 4, .batch = 4}, "twisted:2", "chains:chain_teams=1");
}
