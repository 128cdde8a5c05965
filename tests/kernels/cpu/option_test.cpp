#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include "tests/support/cpu/call.hpp"

using namespace trifold;
using namespace trifold::test;

TEST_CASE("a diagonal and a shift are added where D is loaded, on every level") {
    for (const std::string schedule : {"twisted:2", "multi-stage"}) {
        Call<double> call({.block = 9, .horizon = 6, .batch = 2}, schedule);
        std::vector<double> diagonal(2 * 6 * 9), shift{0.5, 3};
        for (std::size_t k = 0; k < diagonal.size(); ++k) diagonal[k] = static_cast<double>(k % 7);
        call.args.diagonal = diagonal.data();
        call.args.shift = shift.data();
        call.run(Operation::factor_solve);
        for (std::int64_t m = 0; m < 2; ++m) {
            auto a = call.systems[static_cast<std::size_t>(m)].dense();
            for (Eigen::Index k = 0; k < a.rows(); ++k)
                a(k, k) += diagonal[static_cast<std::size_t>(m * a.rows() + k)] + shift[static_cast<std::size_t>(m)];
            CHECK(call.residual(m, a) <= tolerance<double>);
            CHECK(call.buffer<double>("log_determinant")[m] ==
                  doctest::Approx(2 * a.llt().matrixLLT().diagonal().array().log().sum()).epsilon(1e-14));
        }
    }
}

TEST_CASE("members that are not active are left alone") {
    Call<double> call({.block = 6, .horizon = 5, .batch = 3}, "partitioned:2");
    const int active[] = {1, 0, 1};
    call.args.active = active;
    std::fill(call.x.begin(), call.x.end(), -7.0);
    call.run(Operation::factor_solve);
    CHECK(call.residual(0) <= tolerance<double>);
    CHECK(call.residual(2) <= tolerance<double>);
    CHECK((call.solution(1).array() == -7.0).all());
    for (const std::string name : {"status", "factor", "next", "update", "failure", "log_determinant", "quadratic", "rhs_update"}) {
        const auto& region = buffer(call.unit.program(), name);
        const auto* bytes = call.buffer<unsigned char>(name);
        const bool by_side = name == "update" || name == "rhs_update";
        const auto part = region.bytes / (by_side ? 6 : 3);
        for (std::int64_t k = 0; k < part; ++k) REQUIRE(bytes[part + k] == 0xff);
    }
}

TEST_CASE("fewer members and columns than there is room for") {
    Call<double> call({.block = 10, .horizon = 5, .rhs = 8, .batch = 4}, "twisted:2");
    const auto strides = kernel_strides(rhs_strides(call.spec, 3));
    const auto systems = random_systems(call.spec, 3, 7);
    const auto user = arrays<double>(call.spec, systems);
    std::vector<double> x(user.b.size(), -7.0);
    call.args.b = user.b.data();
    call.args.x = x.data();
    call.args.b_strides = call.args.x_strides = strides;
    call.args.columns = 3;
    call.args.members = 2;
    call.run(Operation::factor_solve);
    for (std::int64_t m = 0; m < 2; ++m)
        CHECK(relative_residual(systems[static_cast<std::size_t>(m)].dense(), gather(call.spec, x, m, 3),
                                systems[static_cast<std::size_t>(m)].b) <= 1e-14);
    for (std::size_t k = x.size() / 2; k < x.size(); ++k) REQUIRE(x[k] == -7.0);
}

TEST_CASE("x may be b") {
    for (const std::string schedule : {"sequential", "twisted:2", "multi-stage"}) {
        Call<double> call({.block = 7, .horizon = 9, .rhs = 2}, schedule);
        call.run(Operation::factor_solve);
        auto b = call.user.b;
        call.args.b = call.args.x = b.data();
        call.run(Operation::solve);
        CHECK(b == call.x);
        b = call.user.b;
        call.run(Operation::factor_solve);
        CHECK(b == call.x);
    }
}

TEST_CASE("the same bits however the tasks are cut, and wherever a member stands in the batch") {
    for (const std::string schedule : {"partitioned:4", "multi-stage"}) {
        Call<float> call({.block = 12, .horizon = 23, .batch = 3}, schedule);
        call.systems = {call.systems[0], call.systems[1], call.systems[0]};
        call.user = arrays<float>(call.spec, call.systems);
        call.args = kernel_args(call.spec, call.user, call.x, 1, call.workspace);
        call.run(Operation::factor_solve);
        const auto whole = call.x;
        const auto third = whole.size() / 3;
        CHECK(std::memcmp(whole.data(), whole.data() + 2 * third, third * sizeof(float)) == 0);
        for (const Split split : {Split{1, false}, Split{1, true}, Split{5, true}}) {
            std::fill(call.x.begin(), call.x.end(), 0.0F);
            call.run(Operation::factor_solve, split);
            CHECK(call.x == whole);
        }
    }
}
