#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstring>

#include "tests/emulator/fixture.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

/// Blocks of the inverse against the dense one.
template <class Real>
void check_inverse(const EmulatedUnit& unit, const std::vector<System>& systems, trifold_args args, trifold::test::Order order) {
    const auto& spec = unit.program().spec;
    const auto n = spec.block;
    const auto elements = static_cast<std::size_t>(spec.batch * spec.horizon * n * n);
    std::vector<Real> diagonal(elements), coupling(elements);
    args.inverse_diagonal = diagonal.data();
    args.inverse_coupling = coupling.data();
    unit.run(Operation::inverse, args, order);
    using Block = Eigen::Map<const Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;
    for (std::int64_t m = 0; m < spec.batch; ++m) {
        const Matrix inverse = systems[static_cast<std::size_t>(m)].dense().inverse();
        const auto bound = 100 * tolerance<Real> * inverse.cwiseAbs().maxCoeff();
        for (std::int64_t i = 0; i < spec.horizon; ++i) {
            const Matrix own = Block(diagonal.data() + (m * spec.horizon + i) * n * n, n, n).template cast<double>();
            CHECK((own - inverse.block(i * n, i * n, n, n)).cwiseAbs().maxCoeff() <= bound);
            CHECK(own == own.transpose());
            if (i + 1 == spec.horizon) continue;
            const Matrix next = Block(coupling.data() + (m * (spec.horizon - 1) + i) * n * n, n, n).template cast<double>();
            CHECK((next - inverse.block((i + 1) * n, i * n, n, n)).cwiseAbs().maxCoeff() <= bound);
        }
    }
}

template <class Real>
void check_solves(Spec spec, const std::string& schedule, const std::string& variant, const std::string& arch) {
    spec.precision = sizeof(Real) == 8 ? Precision::f64 : Precision::f32;
    const auto label =
        fmt::format("n {} N {} m {} {} {} {} f{}", spec.block, spec.horizon, spec.rhs, schedule, variant, arch, 8 * sizeof(Real));
    CAPTURE(label);
    const EmulatedUnit unit(generate(spec, {Backend::cuda, arch}, {.schedule = schedule, .variant = variant}));
    const auto systems = random_systems(spec, 7);
    const auto user = arrays<Real>(spec, systems);
    std::vector<Real> first;
    for (const auto order : {trifold::test::Order::forward, trifold::test::Order::reverse}) {
        Workspace workspace(unit.program());
        std::vector<Real> x(user.b.size()), y(user.b.size()), again(user.b.size());
        auto args = arguments(spec, user, x, workspace);
        unit.run(Operation::factor_solve, args, order);
        args.x = again.data();
        unit.run(Operation::solve, args, order);
        args.x = y.data();
        unit.run(Operation::forward, args, order);
        for (std::int64_t m = 0; m < spec.batch; ++m) {
            const auto& system = systems[static_cast<std::size_t>(m)];
            const auto a = system.dense();
            const auto status = workspace.buffer<trifold_status>(unit.program(), "status")[m];
            CHECK(status.block == -1);
            CHECK(status.floors == 0);
            CHECK(relative_residual(a, gather(spec, x, m, spec.rhs), system.b) <= tolerance<Real>);
            CHECK(relative_residual(a, gather(spec, again, m, spec.rhs), system.b) <= tolerance<Real>);
            const auto forward = forward_oracle(system, unit.program().schedule);
            CHECK((gather(spec, y, m, spec.rhs) - forward).cwiseAbs().maxCoeff() <= 100 * tolerance<Real> * forward.cwiseAbs().maxCoeff());
            const auto expected = 2 * a.llt().matrixLLT().diagonal().array().log().sum();
            CHECK(workspace.buffer<double>(unit.program(), "log_determinant")[m] == doctest::Approx(expected).epsilon(tolerance<Real>));
            const auto* quadratic = workspace.buffer<double>(unit.program(), "quadratic") + m * spec.rhs;
            for (std::int64_t c = 0; c < spec.rhs; ++c)
                CHECK(quadratic[c] == doctest::Approx(forward.col(c).squaredNorm()).epsilon(10 * tolerance<Real>));
        }
        check_inverse<Real>(unit, systems, args, order);
        args.b = y.data(), args.x = y.data();
        unit.run(Operation::backward, args, order);
        CHECK(std::memcmp(y.data(), again.data(), y.size() * sizeof(Real)) == 0);
        // The order of threads must not matter; where it does, a barrier is missing.
        if (first.empty()) first = x;
        CHECK(std::memcmp(first.data(), x.data(), x.size() * sizeof(Real)) == 0);
    }
}

void check_both(const Spec& spec, const std::string& schedule, const std::string& variant = "auto", const std::string& arch = "sm_90") {
    check_solves<double>(spec, schedule, variant, arch);
    check_solves<float>(spec, schedule, variant, arch);
}

}  // namespace

TEST_CASE("every schedule solves on the emulated GPU") {
    for (const std::string schedule :
         {"sequential", "single-stage", "multi-stage", "partitioned:3", "twisted:2", "twisted:4", "recursive:2:3", "segments:3,2"})
        check_both({.block = 5, .horizon = 13, .rhs = 3, .batch = 2}, schedule, "fused");
}

TEST_CASE("every block size solves on the emulated GPU") {
    const std::string schedules[] = {"twisted:2", "partitioned:3", "multi-stage"};
    int k = 0;
    for (const std::int64_t n : {1, 4, 7, 8, 12, 31, 33, 64})
        check_both({.block = n, .horizon = 6, .rhs = k % 3 == 2 ? 8 : 1}, schedules[k++ % 3], "fused");
}

TEST_CASE("short horizons solve on the emulated GPU") {
    for (const std::int64_t horizon : {1, 2, 3, 8})
        for (const std::string schedule : {"twisted:3", "multi-stage"}) check_both({.block = 3, .horizon = horizon}, schedule, "fused");
}

TEST_CASE("tiled kernels solve on the emulated GPU") {
    for (const std::string schedule : {"sequential", "multi-stage", "partitioned:3", "twisted:3"})
        check_both({.block = 33, .horizon = 6, .rhs = schedule == "sequential" ? 3 : 1}, schedule, "tiled");
    check_both({.block = 5, .horizon = 9, .rhs = 8, .batch = 2}, "twisted:4", "tiled");
    check_both({.block = 130, .horizon = 4}, "twisted:2", "tiled");
}
