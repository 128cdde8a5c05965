#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/cpu/call.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

/// Of twelve random walks those with an even number have no anchor, and those with an odd one a weak one; half of them have random units.
std::vector<System> random_walks(const Spec& spec) {
    const auto anchor = spec.precision == Precision::f64 ? 1e-8 : 3e-3;
    std::vector<System> systems;
    for (unsigned k = 0; k < 12; ++k)
        systems.push_back(random_walk(spec.block, spec.horizon, k % 2 == 0 ? 0 : anchor, k % 4 >= 2, spec.precision, 100 + k));
    return systems;
}

template <class Real>
void check_walks(Spec spec, const std::string& schedule, const std::string& variant) {
    spec.precision = sizeof(Real) == 8 ? Precision::f64 : Precision::f32;
    spec.batch = 12;
    CAPTURE(spec.block);
    CAPTURE(spec.horizon);
    CAPTURE(schedule);
    CAPTURE(variant);
    const CompiledProgram unit(choose(spec, host_target(), {.schedule = schedule, .variant = variant}));
    auto systems = random_walks(spec);
    const auto statuses = [&](bool accept) {
        const auto user = arrays<Real>(spec, systems);
        const Workspace workspace(unit.program());
        std::vector<Real> x(user.b.size());
        auto args = kernel_args(spec, user, x, 1, workspace);
        args.accept_nearly_singular = accept;
        unit.run(Operation::factor_solve, args);
        const auto* first = workspace.template buffer<trifold_status>(unit.program(), "status");
        return std::vector<trifold_status>(first, first + spec.batch);
    };
    const auto found = statuses(false), accepted = statuses(true);
    for (std::size_t k = 0; k < found.size(); ++k) {
        CAPTURE(k);
        const bool failed = found[k].block >= 0, singular = found[k].nearly_singular != 0;
        CHECK(((failed || singular) == (k % 2 == 0)));
        CHECK((found[k].least_pivot == 0) == failed);
        CHECK(accepted[k].block == found[k].block);
        CHECK(accepted[k].least_pivot == found[k].least_pivot);
        CHECK(accepted[k].nearly_singular == 0);
    }
    for (unsigned k = 0; k < 12; ++k) systems[k] = scaled_by_powers_of_two(systems[k], k);
    const auto scaled = statuses(false);
    for (std::size_t k = 0; k < scaled.size(); ++k) CHECK(scaled[k].least_pivot == found[k].least_pivot);
}

}  // namespace

TEST_CASE(
    "random walks without an anchor are nearly singular or not positive definite, whatever their units; with a weak one they are sound") {
    const std::string schedules[] = {"sequential", "twisted:2", "multi-stage", "partitioned:3", "segments:3,2", "single-stage"};
    for (std::int64_t n = 1; n <= 6; ++n) {
        const auto& schedule = schedules[n - 1];
        for (const std::string variant : {"tile", "lanes"}) {
            const bool wide = (n % 2 == 0) == (variant == "tile");
            const Spec spec{.block = n, .horizon = wide ? 50 : 7};
            if (wide)
                check_walks<double>(spec, schedule, variant);
            else
                check_walks<float>(spec, schedule, variant);
        }
    }
}
