// Mixed precision on emulated GPUs: what it finds, and when it gives up.
#include <cmath>

#include "tests/kernels/emulator/emulated.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

/// An emulated unit of mixed precision with its arrays.
struct Mixed : Emulated<double> {
    Mixed(Spec spec, const std::string& schedule, const std::string& variant, const std::string& target, std::vector<System> given)
        : Emulated<double>(as_mixed(spec), schedule, std::move(given), parse_target(target), variant) {
        std::ranges::fill(x, 42);
    }
    static Spec as_mixed(Spec spec) {
        spec.precision = Precision::mixed;
        return spec;
    }
    const trifold_refined& refined(std::int64_t member) const { return buffer<trifold_refined>("refined")[member]; }
};

/// Values that f32 does not hold.
std::vector<System> scaled_systems(const Spec& spec) {
    auto systems = random_systems(spec, spec.rhs, 21);
    for (auto& system : systems)
        for (auto* blocks : {&system.d, &system.e})
            for (auto& block : *blocks) block *= 1.1;
    return systems;
}

void check_solves(const Spec& spec, const std::string& schedule, const std::string& variant, const std::string& target) {
    INFO(fmt::format("n {} N {} m {} batch {} {} {} {}", spec.block, spec.horizon, spec.rhs, spec.batch, schedule, variant, target));
    Mixed mixed(spec, schedule, variant, target, scaled_systems(spec));
    mixed.run(Operation::factor_solve, next_running());
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
    mixed.run(Operation::solve, next_running());
    expect_solution();
    check_findings(mixed.unit);
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
    systems[1].d = {test::Matrix::Constant(1, 1, 1 + 0.51 * 0x1p-23), test::Matrix::Constant(1, 1, 1 + 0.51 * 0x1p-23)};
    systems[1].e = {test::Matrix::Constant(1, 1, 1 + 0.49 * 0x1p-23)};
    systems[2].d[1](0, 0) = 1e200;
    systems[4].b *= 1e-100;
    Mixed mixed(spec, "sequential", "fused", "cuda:sm_90", systems);
    const std::vector<int> active{1, 1, 1, 0, 1};
    mixed.args.active = active.data();
    mixed.run(Operation::factor_solve, next_running());
    CHECK(mixed.residual(0) < 1e-14);
    CHECK(mixed.refined(0).converged == 1);
    for (const std::int64_t member : {1, 2, 4}) {
        CHECK(mixed.refined(member).converged == 0);
        CHECK(mixed.solution(member).array().isNaN().all());
    }
    CHECK(mixed.status(2).block == 1);
    CHECK((mixed.solution(3).array() == 42).all());
    CHECK(mixed.refined(3).iterations == -1);
    check_findings(mixed.unit);
}
