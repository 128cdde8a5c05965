#pragma once
#include <doctest/doctest.h>

#include "tests/support/cpu/call.hpp"

namespace trifold::test {

/// Solves random systems every way there is and compares with dense algebra in double.
template <class Real>
void check_solves(const Spec& spec, const std::string& schedule, const std::string& variant, const Target& target, std::int64_t columns) {
    CAPTURE(spec.block);
    CAPTURE(spec.horizon);
    CAPTURE(schedule);
    CAPTURE(variant);
    const CompiledProgram unit(choose(spec, target, {.schedule = schedule, .variant = variant}));
    const auto systems = random_systems(spec, columns, 7);
    const auto user = arrays<Real>(spec, systems);
    const Workspace workspace(unit.program());
    std::vector<Real> x(user.b.size()), y(user.b.size()), again(user.b.size());
    auto args = kernel_args(spec, user, x, columns, workspace);
    unit.run(Operation::factor_solve, args);
    args.x = y.data();
    unit.run(Operation::forward, args);
    args.x = again.data();
    unit.run(Operation::solve, args);
    for (std::int64_t m = 0; m < spec.batch; ++m) {
        const auto& system = systems[static_cast<std::size_t>(m)];
        const auto a = system.dense();
        const auto status = workspace.buffer<trifold_status>(unit.program(), "status")[m];
        CHECK(status.block == -1);
        CHECK(status.floors == 0);
        CHECK(status.nearly_singular == 0);
        CHECK(status.least_pivot == doctest::Approx(least_pivot_oracle(system, unit.choice().schedule)).epsilon(1000 * tolerance<Real>));
        CHECK(relative_residual(a, gather(spec, x, m, columns), system.b) <= tolerance<Real>);
        CHECK(relative_residual(a, gather(spec, again, m, columns), system.b) <= tolerance<Real>);
        const auto forward = forward_oracle(system, unit.choice().schedule);
        CHECK((gather(spec, y, m, columns) - forward).cwiseAbs().maxCoeff() <= 100 * tolerance<Real> * forward.cwiseAbs().maxCoeff());
        const auto expected = 2 * a.llt().matrixLLT().diagonal().array().log().sum();
        CHECK(workspace.buffer<double>(unit.program(), "log_determinant")[m] == doctest::Approx(expected).epsilon(tolerance<Real>));
        const auto* quadratic = workspace.buffer<double>(unit.program(), "quadratic") + m * spec.rhs;
        for (std::int64_t c = 0; c < columns; ++c)
            CHECK(quadratic[c] == doctest::Approx(forward.col(c).squaredNorm()).epsilon(10 * tolerance<Real>));
    }
    args.b = y.data();
    args.x = y.data();
    unit.run(Operation::backward, args);
    CHECK(y == again);
    CHECK(unit.exceptions() == 0);
}

inline void check_both(Spec spec, const std::string& schedule, const Target& target = host_target(), const std::string& variant = "auto") {
    spec.precision = Precision::f64;
    check_solves<double>(spec, schedule, variant, target, spec.rhs);
    spec.precision = Precision::f32;
    check_solves<float>(spec, schedule, variant, target, spec.rhs);
}

}  // namespace trifold::test
