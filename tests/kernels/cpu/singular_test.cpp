#include <doctest/doctest.h>

#include "tests/support/cpu/call.hpp"
#include "tests/support/cpu/walks.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

template <class Real>
void check(Spec spec, const std::string& schedule, const std::string& variant) {
    spec.precision = sizeof(Real) == 8 ? Precision::f64 : Precision::f32;
    spec.batch = 12;
    CAPTURE(spec.block);
    CAPTURE(spec.horizon);
    CAPTURE(schedule);
    CAPTURE(variant);
    const CompiledProgram unit(choose(spec, host_target(), {.schedule = schedule, .variant = variant}));
    check_walks(spec, [&](const std::vector<System>& systems, bool accept) {
        const auto user = arrays<Real>(spec, systems);
        const Workspace workspace(unit.program());
        std::vector<Real> x(user.b.size());
        auto args = kernel_args(spec, user, x, 1, workspace);
        args.accept_nearly_singular = accept;
        unit.run(Operation::factor_solve, args);
        const auto* first = workspace.template buffer<trifold_status>(unit.program(), "status");
        return std::vector<trifold_status>(first, first + spec.batch);
    });
}

}  // namespace

TEST_CASE("random walks without an anchor are nearly singular or not positive definite, whatever their units, and with a weak one sound") {
    const std::string schedules[] = {"sequential", "twisted:2", "multi-stage", "partitioned:3", "segments:3,2", "single-stage"};
    for (std::int64_t n = 1; n <= 6; ++n) {
        const auto& schedule = schedules[n - 1];
        for (const std::string variant : {"tile", "lanes", "intervals"}) {
            const bool wide = (n % 2 == 0) == (variant == "tile");
            const Spec spec{.block = n, .horizon = wide ? 50 : 7};
            if (wide)
                check<double>(spec, variant == "intervals" ? "auto" : schedule, variant);
            else
                check<float>(spec, variant == "intervals" ? "auto" : schedule, variant);
        }
    }
}
