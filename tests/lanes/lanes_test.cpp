#include <doctest/doctest.h>

#include "tests/cpu/problem.hpp"
#include "tests/cpu/unit.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

template <class Real>
constexpr double tolerance = sizeof(Real) == 8 ? 1e-14 : 1e-6;

std::vector<System> random_systems(const Spec& spec, std::int64_t columns, unsigned seed) {
    std::vector<System> systems;
    for (std::int64_t m = 0; m < spec.batch; ++m)
        systems.push_back(random_system(spec.block, spec.horizon, columns, seed + static_cast<unsigned>(m)));
    return systems;
}

/// Arrays, workspace (all NaN) and arguments of calls on one batch.
template <class Real>
struct Batch {
    Batch(const Unit& unit, const std::vector<System>& systems)
        : user(arrays<Real>(unit.program().spec, systems)),
          workspace(unit.program()),
          x(user.b.size(), std::numeric_limits<Real>::quiet_NaN()) {
        const auto& spec = unit.program().spec;
        const auto columns = systems[0].b.cols();
        const auto s = rhs_strides(spec, columns);
        args.d = user.d.data();
        args.e = user.e.data();
        args.b = user.b.data();
        args.x = x.data();
        args.b_strides = args.x_strides = {s.row, s.column, s.stage, s.member};
        args.columns = columns;
        args.members = static_cast<std::int64_t>(systems.size());
        args.workspace = workspace.data();
    }
    Arrays<Real> user;
    Workspace workspace;
    std::vector<Real> x;
    trifold_args args{};
};

template <class Real>
Spec with_precision(Spec spec) {
    spec.precision = sizeof(Real) == 8 ? Precision::f64 : Precision::f32;
    return spec;
}

const trifold_status& status(const Unit& unit, const Workspace& workspace, std::int64_t member) {
    return workspace.buffer<trifold_status>(unit.program(), "status")[member];
}

/// Solves random systems every way there is and compares with dense algebra in double.
template <class Real>
void check_solves(const Spec& given, const std::string& schedule, const Target& target = host_target(), std::int64_t columns = 0) {
    const auto spec = with_precision<Real>(given);
    CAPTURE(spec.block);
    CAPTURE(spec.horizon);
    CAPTURE(spec.batch);
    CAPTURE(schedule);
    if (columns == 0) columns = spec.rhs;
    const Unit unit(generate(spec, target, {.schedule = schedule, .variant = "lanes"}));
    const auto systems = random_systems(spec, columns, 11);
    Batch<Real> batch(unit, systems);
    unit.run(Operation::factor_solve, batch.args);
    const auto x = batch.x;
    unit.run(Operation::forward, batch.args);
    auto y = batch.x;
    unit.run(Operation::solve, batch.args);
    const auto again = batch.x;
    CHECK(x == again);
    for (std::int64_t m = 0; m < spec.batch; ++m) {
        const auto& system = systems[static_cast<std::size_t>(m)];
        const auto a = system.dense();
        CHECK(status(unit, batch.workspace, m).block == -1);
        CHECK(status(unit, batch.workspace, m).floors == 0);
        CHECK(relative_residual(a, gather(spec, x, m, columns), system.b) <= tolerance<Real>);
        const auto forward = forward_oracle(system, unit.program().schedule);
        CHECK((gather(spec, y, m, columns) - forward).cwiseAbs().maxCoeff() <= 100 * tolerance<Real> * forward.cwiseAbs().maxCoeff());
        const auto expected = 2 * a.llt().matrixLLT().diagonal().array().log().sum();
        CHECK(batch.workspace.template buffer<double>(unit.program(), "log_determinant")[m] ==
              doctest::Approx(expected).epsilon(tolerance<Real>));
        const auto* quadratic = batch.workspace.template buffer<double>(unit.program(), "quadratic") + m * spec.rhs;
        for (std::int64_t c = 0; c < columns; ++c)
            CHECK(quadratic[c] == doctest::Approx(forward.col(c).squaredNorm()).epsilon(10 * tolerance<Real>));
    }
    batch.args.b = batch.args.x = y.data();  // in place
    unit.run(Operation::backward, batch.args);
    CHECK(y == again);
}

void check_both(const Spec& spec, const std::string& schedule, const Target& target = host_target()) {
    check_solves<double>(spec, schedule, target);
    check_solves<float>(spec, schedule, target);
}

}  // namespace

TEST_CASE("lanes: every schedule solves") {
    for (const std::string schedule :
         {"sequential", "single-stage", "multi-stage", "partitioned:3", "twisted:2", "twisted:4", "recursive:2:3", "segments:3,2"})
        check_both({.block = 5, .horizon = 31, .rhs = 3, .batch = 11}, schedule);
}

TEST_CASE("lanes: every block size solves") {
    const std::string schedules[] = {"twisted:2", "partitioned:3", "multi-stage"};
    int k = 0;
    for (const std::int64_t n : {1, 2, 3, 4, 6, 7, 8, 9, 12, 13, 16, 24, 31})
        check_both({.block = n, .horizon = 6, .rhs = k % 4 == 3 ? 8 : 1, .batch = 5 + k % 5}, schedules[k++ % 3]);
}

TEST_CASE("lanes: short and odd horizons solve") {
    for (const std::int64_t horizon : {1, 2, 3, 4, 8, 16})
        for (const std::string schedule : {"twisted:3", "recursive:2:2"})
            check_both({.block = 3, .horizon = horizon, .batch = 17}, schedule);
}

TEST_CASE("lanes: narrower targets solve") {
    for (const std::string arch : {"x86-64", "x86-64-v3"}) {
        if (arch == "x86-64-v3" && host_target().arch == "x86-64") continue;
        for (const std::int64_t n : {1, 6, 11})
            check_both({.block = n, .horizon = 5, .rhs = 2, .batch = 5}, "partitioned:2", {Backend::cpu, arch});
    }
}

TEST_CASE("lanes: any layout solves") {
    Spec spec{.block = 5, .horizon = 7, .rhs = 2, .batch = 9};
    spec.order = Order::column_major;
    check_both(spec, "twisted:2");
    spec.coupling = Coupling::upper;
    spec.rhs_layout = RhsLayout::column_major;
    check_both(spec, "partitioned:2");
    spec.d.leading = 8;
    spec.e.leading = 6;
    check_both(spec, "multi-stage");
    spec.order = Order::row_major;
    check_both(spec, "twisted:3");
}

TEST_CASE("lanes: fewer columns than the capacity") {
    for (const auto layout : {RhsLayout::staged, RhsLayout::column_major}) {
        check_solves<double>({.block = 4, .horizon = 5, .rhs = 3, .batch = 9, .rhs_layout = layout}, "twisted:2", host_target(), 2);
        check_solves<float>({.block = 4, .horizon = 5, .rhs = 8, .batch = 3, .rhs_layout = layout}, "partitioned:2", host_target(), 1);
    }
}
