// Mixed precision on emulated GPUs: what it finds, and when it gives up.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>

#include "tests/kernels/emulator/fixture.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

/// An emulated unit of mixed precision with its arrays.
struct Mixed {
    Mixed(Spec spec, const std::string& schedule, const std::string& variant, const std::string& target, std::vector<System> given)
        : unit(choose(as_mixed(spec), parse_target(target), {.schedule = schedule, .variant = variant})),
          systems(std::move(given)),
          user(arrays<double>(unit.choice().spec, systems)),
          x(user.b.size(), 42),
          workspace(unit.program()),
          args(arguments<double>(unit.choice().spec, user, x, workspace)) {}
    static Spec as_mixed(Spec spec) {
        spec.precision = Precision::mixed;
        return spec;
    }
    const trifold_refined& refined(std::int64_t member) { return workspace.buffer<trifold_refined>(unit.program(), "refined")[member]; }
    Matrix solution(std::int64_t member) const { return gather(unit.choice().spec, x, member, unit.choice().spec.rhs); }
    double residual(std::int64_t member) const {
        const auto& system = systems[static_cast<std::size_t>(member)];
        return relative_residual(system.dense(), solution(member), system.b);
    }
    void check_findings() const {
        for (const auto& finding : unit.findings()) FAIL_CHECK(finding);
    }

    EmulatedUnit unit;
    std::vector<System> systems;
    Arrays<double> user;
    std::vector<double> x;
    EmulatedWorkspace workspace;
    trifold_args args;
};

/// Values that f32 does not hold.
std::vector<System> scaled_systems(const Spec& spec) {
    auto systems = random_systems(spec, 21);
    for (auto& system : systems)
        for (auto* blocks : {&system.d, &system.e})
            for (auto& block : *blocks) block *= 1.1;
    return systems;
}

Running next_running() {
    static unsigned count = 0;
    ++count;
    return {count % 2 == 0 ? trifold::test::Order::random : trifold::test::Order::forward, count, 1 + static_cast<int>(count % 3)};
}

void check_solves(const Spec& spec, const std::string& schedule, const std::string& variant, const std::string& target) {
    const auto label =
        fmt::format("n {} N {} m {} batch {} {} {} {}", spec.block, spec.horizon, spec.rhs, spec.batch, schedule, variant, target);
    CAPTURE(label);
    Mixed mixed(spec, schedule, variant, target, scaled_systems(spec));
    mixed.unit.run(Operation::factor_solve, mixed.args, next_running());
    const auto expect_solution = [&] {
        for (std::int64_t member = 0; member < spec.batch; ++member) {
            CHECK(mixed.residual(member) < 1e-14);
            CHECK((mixed.refined(member).converged == 1 && mixed.refined(member).iterations >= 1 && mixed.refined(member).iterations <= 4));
        }
    };
    expect_solution();
    mixed.x = mixed.user.b;  // in place, of the matrix that was kept
    mixed.args.b = mixed.x.data();
    mixed.args.d = mixed.args.e = nullptr;
    mixed.unit.run(Operation::solve, mixed.args, next_running());
    expect_solution();
    mixed.check_findings();
}

}  // namespace

TEST_CASE("mixed precision solves on the emulated GPU, in every variant") {
    check_solves({.block = 5, .horizon = 7, .rhs = 3, .batch = 2}, "twisted:3", "fused", "cuda:sm_90");
    check_solves({.block = 12, .horizon = 5}, "multi-stage", "dataflow", "cuda:sm_90");
    check_solves({.block = 33, .horizon = 3}, "partitioned:2", "tiled", "cuda:sm_75");
    check_solves({.block = 33, .horizon = 3, .batch = 2}, "multi-stage", "tile-dataflow", "cuda:sm_90");
    check_solves({.block = 3, .horizon = 5, .rhs = 2, .batch = 9}, "sequential", "team", "cuda:sm_90");
    check_solves({.block = 3, .horizon = 8, .rhs = 2, .batch = 2}, "recursive:2", "team", "cuda:sm_90");
    check_solves({.block = 20, .horizon = 5, .rhs = 2, .batch = 2}, "twisted:2", "chains", "cuda:sm_90");
}

TEST_CASE("mixed precision solves on the emulated GPU with short horizons and with parts of rows") {
    for (const std::int64_t horizon : {1, 2}) check_solves({.block = 1, .horizon = horizon}, "sequential", "fused", "cuda:sm_90");
    check_solves({.block = 130, .horizon = 2}, "sequential", "auto", "cuda:sm_90");
}

TEST_CASE("mixed precision solves on emulated GPUs of AMD's") {
    for (const std::string target : {"hip:gfx1100", "hip:gfx942"})
        check_solves({.block = 6, .horizon = 6, .rhs = 2, .batch = 2}, "multi-stage", "fused", target);
}

TEST_CASE("mixed precision gives up by member on the emulated GPU, and leaves masked members alone") {
    const Spec spec{.block = 1, .horizon = 2, .batch = 5};
    auto systems = scaled_systems(spec);
    // Condition 8e8; rounded to f32 the smallest eigenvalue is fifty times as large.
    systems[1].d = {Matrix::Constant(1, 1, 1 + 0.51 * 0x1p-23), Matrix::Constant(1, 1, 1 + 0.51 * 0x1p-23)};
    systems[1].e = {Matrix::Constant(1, 1, 1 + 0.49 * 0x1p-23)};
    systems[2].d[1](0, 0) = 1e200;
    systems[4].b *= 1e-100;
    Mixed mixed(spec, "sequential", "fused", "cuda:sm_90", systems);
    const std::vector<int> active{1, 1, 1, 0, 1};
    mixed.args.active = active.data();
    mixed.unit.run(Operation::factor_solve, mixed.args, next_running());
    CHECK(mixed.residual(0) < 1e-14);
    CHECK(mixed.refined(0).converged == 1);
    for (const std::int64_t member : {1, 2, 4}) {
        CHECK(mixed.refined(member).converged == 0);
        CHECK(mixed.solution(member).array().isNaN().all());
    }
    CHECK(mixed.workspace.buffer<trifold_status>(mixed.unit.program(), "status")[2].block == 1);
    CHECK((mixed.solution(3).array() == 42).all());
    CHECK(mixed.refined(3).iterations == -1);
    mixed.check_findings();
}
