#include <doctest/doctest.h>

#include "tests/support/cpu/call.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

template <class Real>
void check_layout(const Spec& spec, const std::string& schedule = "twisted:2") {
    Call<Real> call(spec, schedule);
    call.run(Operation::factor_solve);
    for (std::int64_t m = 0; m < spec.batch; ++m) CHECK(call.residual(m) <= tolerance<Real>);
}

}  // namespace

TEST_CASE("every storage order, coupling and leading dimension") {
    for (const auto order : {Order::row_major, Order::column_major})
        for (const auto coupling : {Coupling::lower, Coupling::upper})
            for (const std::int64_t n : {3, 11}) {
                CAPTURE(n);
                check_layout<double>({.block = n,
                                      .horizon = 6,
                                      .batch = 2,
                                      .order = order,
                                      .coupling = coupling,
                                      .d = {.leading = n + 3},
                                      .e = {.leading = n + 1}},
                                     "partitioned:2");
            }
    check_layout<float>({.block = 18, .horizon = 5, .order = Order::column_major});
    check_layout<double>({.block = 66, .horizon = 4, .order = Order::column_major});
}

TEST_CASE("gaps between blocks and members") {
    check_layout<double>({.block = 5,
                          .horizon = 4,
                          .batch = 3,
                          .d = {.leading = 6, .stage = 41, .member = 200},
                          .e = {.leading = 5, .stage = 30, .member = 99}});
}

TEST_CASE("right-hand sides as one column-major matrix") {
    check_layout<double>({.block = 7, .horizon = 6, .rhs = 3, .batch = 2, .rhs_layout = RhsLayout::stacked});
    check_layout<double>({.block = 16, .horizon = 5, .rhs = 8, .rhs_layout = RhsLayout::stacked}, "multi-stage");
}

TEST_CASE("blocks shared by all stages and members") {
    for (const std::int64_t n : {4, 9}) {
        const Spec spec{.block = n, .horizon = 5, .batch = 2, .d = {.stage = 0, .member = 0}, .e = {.stage = 0, .member = 0}};
        auto systems = random_systems(spec, 1, 3);
        const Matrix d = systems[0].d[1] * 2, e = systems[0].e[0];
        for (auto& system : systems) {
            std::fill(system.d.begin(), system.d.end(), d);
            std::fill(system.e.begin(), system.e.end(), e);
        }
        Call<double> call(spec, "twisted:2", systems);
        call.run(Operation::factor_solve);
        for (std::int64_t m = 0; m < 2; ++m) CHECK(call.residual(m) <= tolerance<double>);
    }
}
