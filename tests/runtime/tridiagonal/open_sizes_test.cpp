#include <doctest/doctest.h>
#include <fmt/format.h>

#include <trifold/solver.hpp>

#include "tests/support/cpu/problem.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

template <class Real>
std::vector<Real> solution_of(const Spec& spec, const Tuning& tuning, const Arrays<Real>& user) {
    std::vector<Real> x(user.b.size());
    Solver solver(Plan(spec, Device::cpu(), tuning));
    solver.factor_solve(std::span<const Real>(user.d), std::span<const Real>(user.e), std::span<const Real>(user.b), std::span<Real>(x));
    CHECK(solver.ok());
    return x;
}

template <class Real>
void check_bits(Spec spec, const std::string& variant, const std::string& schedule) {
    spec.precision = sizeof(Real) == 8 ? Precision::f64 : Precision::f32;
    CAPTURE(spec.block);
    CAPTURE(variant);
    std::vector<System> systems;
    for (std::int64_t m = 0; m < spec.batch; ++m)
        systems.push_back(random_system(spec.block, spec.horizon, spec.rhs, 3 + static_cast<unsigned>(m)));
    const auto user = arrays<Real>(spec, systems);
    const auto open = solution_of(spec, {.schedule = schedule, .variant = variant + ":bake=0"}, user);
    CHECK(open == solution_of(spec, {.schedule = schedule, .variant = variant + ":bake=1"}, user));
    CHECK(open == solution_of(spec, {.schedule = schedule, .variant = variant, .any_size = true}, user));
    // One member alone, in a batch of another size.
    auto alone = spec;
    alone.batch = 1;
    const auto first = solution_of(alone, {.schedule = schedule, .variant = variant}, arrays<Real>(alone, {systems.front()}));
    CHECK(std::equal(first.begin(), first.end(), open.begin()));
}

}  // namespace

TEST_CASE("a solution has the same bits with sizes as literals and without, and whatever the batch") {
    for (const auto* schedule : {"sequential", "twisted:2", "multi-stage"})
        for (const std::int64_t n : {1, 5, 12, 33}) {
            check_bits<double>({.block = n, .horizon = 17, .batch = 3}, "tile", schedule);
            check_bits<float>({.block = n, .horizon = 17, .batch = 3}, "tile", schedule);
            if (n < 13) check_bits<double>({.block = n, .horizon = 17, .batch = 9}, "lanes", schedule);
        }
    check_bits<double>({.block = 5, .horizon = 70, .batch = 2}, "intervals", "auto");
}
