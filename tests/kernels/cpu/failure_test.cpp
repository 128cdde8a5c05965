#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "tests/support/cpu/call.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

const std::string schedules[] = {"sequential", "twisted:2", "partitioned:3", "multi-stage", "recursive:2:2", "single-stage"};
constexpr double infinity = std::numeric_limits<double>::infinity(), not_a_number = std::numeric_limits<double>::quiet_NaN();

/// Three members; the middle one has `entry` at one place of the diagonal of D.
template <class Real>
Call<Real> broken(std::int64_t n, const std::string& schedule, std::size_t block, Eigen::Index row, double entry) {
    const auto spec = Call<Real>::with_precision({.block = n, .horizon = 7, .rhs = 2, .batch = 3});
    auto systems = random_systems(spec, 2, 5);
    systems[1].d[block](row, row) = entry;
    return Call<Real>(spec, schedule, std::move(systems));
}

template <class Real>
void check_failure(const Call<Real>& call, std::int64_t block, std::int64_t row) {
    call.run(Operation::factor_solve);
    CHECK(call.status(1).block == block);
    CHECK(call.status(1).row == row);
    CHECK(call.solution(1).array().isNaN().all());
    CHECK(std::isnan(call.template buffer<double>("log_determinant")[1]));
    for (const std::int64_t m : {0, 2}) {
        CHECK(call.status(m).block == -1);
        CHECK(call.residual(m) <= tolerance<Real>);
    }
}

}  // namespace

TEST_CASE("the failing block and row are named, and only that member fails") {
    for (const auto& schedule : schedules) {
        CAPTURE(schedule);
        for (const std::size_t block : {0, 3, 6}) {
            CAPTURE(block);
            check_failure(broken<double>(11, schedule, block, 9, -1), static_cast<std::int64_t>(block), 9);
        }
    }
    check_failure(broken<double>(1, "twisted:2", 2, 0, 0), 2, 0);
    check_failure(broken<float>(5, "multi-stage", 4, 4, -1), 4, 4);
}

TEST_CASE("zeros, infinities and NaN on the diagonal fail") {
    check_failure(broken<double>(4, "sequential", 0, 0, 0), 0, 0);
    check_failure(broken<double>(9, "twisted:2", 1, 3, infinity), 1, 3);
    check_failure(broken<double>(9, "twisted:2", 1, 3, -infinity), 1, 3);
    check_failure(broken<float>(9, "twisted:2", 5, 8, not_a_number), 5, 8);
    check_failure(broken<double>(17, "partitioned:3", 2, 16, not_a_number), 2, 16);
}

TEST_CASE("of several failures the earliest level's first block is named, and fronts fed by a failed one are not") {
    const Spec spec{.block = 6, .horizon = 9};
    auto systems = random_systems(spec, 1, 5);
    for (const std::size_t block : {2, 4, 7}) systems[0].d[block](3, 3) = -1;
    // twisted:2 eliminates 4 last, and 7 before it in the chain that runs backwards
    Call<double> twisted(spec, "twisted:2", systems);
    twisted.run(Operation::factor_solve);
    CHECK(twisted.status(0).block == 2);
    // multi-stage eliminates 0, 2, 4, 6, 8 first
    systems[0].d[2](3, 3) = 1e3;
    Call<double> multi(spec, "multi-stage", systems);
    multi.run(Operation::factor_solve);
    CHECK(multi.status(0).block == 4);
    CHECK(multi.status(0).row == 3);
}

TEST_CASE("NaN in E or b does not go unnoticed") {
    const Spec spec{.block = 7, .horizon = 5};
    auto systems = random_systems(spec, 1, 5);
    systems[0].e[2](4, 1) = not_a_number;
    for (const auto& schedule : schedules) {
        Call<double> call(spec, schedule, systems);
        call.run(Operation::factor_solve);
        CHECK(call.status(0).block >= 0);
        CHECK(call.solution(0).array().isNaN().all());
    }
    Call<double> sequential(spec, "sequential", systems);
    sequential.run(Operation::factor);
    CHECK(sequential.status(0).block == 3);
    CHECK(sequential.status(0).row == 4);
    systems = random_systems(spec, 1, 5);
    systems[0].b(12, 0) = not_a_number;
    Call<double> call(spec, "twisted:2", systems);
    call.run(Operation::factor_solve);
    CHECK(call.status(0).block == -1);
    CHECK(call.solution(0).array().isNaN().any());
}

TEST_CASE("a factorization that succeeds clears an earlier failure") {
    auto call = broken<double>(6, "multi-stage", 3, 2, -1);
    call.run(Operation::factor_solve);
    REQUIRE(call.status(1).block == 3);
    call.systems = random_systems(call.spec, 2, 8);
    const auto user = arrays<double>(call.spec, call.systems);
    call.args.d = user.d.data(), call.args.e = user.e.data(), call.args.b = user.b.data();
    call.run(Operation::factor_solve);
    CHECK(call.status(1).block == -1);
    CHECK(call.residual(1) <= 1e-14);
}

TEST_CASE("pivots below the floor are raised to it and counted") {
    for (const Eigen::Index row : {5, 12}) {
        const Spec spec{.block = 13, .horizon = 5};
        auto systems = random_systems(spec, 1, 5);
        systems[0].d[3](row, row) = -0.25;
        Call<double> call(spec, "sequential", systems);
        call.args.pivot_floor = 0.125;
        call.run(Operation::factor_solve);
        CHECK(call.status(0).block == -1);
        CHECK(call.status(0).floors == 1);
        // The raised pivot is that of A with as much added to this entry of the diagonal as the pivot was raised by.
        auto a = systems[0].dense();
        const Eigen::Index at = 3 * 13 + row;
        const Matrix head = a.topLeftCorner(at, at);
        const Eigen::VectorXd column = a.col(at).head(at);
        const double pivot = a(at, at) - column.dot(head.llt().solve(column));
        a(at, at) += 0.125 * systems[0].d[3].diagonal().maxCoeff() - pivot;
        CHECK(call.residual(0, a) <= 1e-14);
        call.args.pivot_floor = 0;
        call.run(Operation::factor);
        CHECK(call.status(0).block == 3);
        CHECK(call.status(0).row == row);
        CHECK(call.status(0).floors == 0);
    }
    auto call = broken<double>(4, "twisted:2", 2, 1, not_a_number);
    call.args.pivot_floor = 0.5;
    call.run(Operation::factor);
    CHECK(call.status(1).block == 2);
    CHECK(call.status(1).row == 1);
}
