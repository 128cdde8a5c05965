#pragma once
#include <string>
#include <trifold/generate.hpp>
#include <vector>

#include "tests/support/cpu/problem.hpp"

namespace trifold::test {

/// Random systems of a Spec and their arrays.
template <class Real>
struct Problem {
    Problem(const Spec& given, std::int64_t width, unsigned seed) : spec(given), columns(width) {
        for (std::int64_t m = 0; m < spec.batch; ++m)
            systems.push_back(random_system(spec.block, spec.horizon, width, seed + static_cast<unsigned>(m)));
        input = arrays<Real>(spec, systems);
        x.assign(input.b.size(), Real(0));
    }
    /// The worst member's relative residual of `x`.
    double residual() const {
        double worst = 0;
        for (std::int64_t m = 0; m < spec.batch; ++m) {
            const auto& system = systems[static_cast<std::size_t>(m)];
            worst = std::max(worst, relative_residual(system.dense(), gather(spec, x, m, columns), system.b));
        }
        return worst;
    }
    Spec spec;
    std::int64_t columns;
    std::vector<System> systems;
    Arrays<Real> input;
    std::vector<Real> x;
};

inline Tuning tuning(std::string schedule, int workers = 1) {
    Tuning result;
    result.schedule = std::move(schedule);
    result.workers = workers;
    return result;
}

}  // namespace trifold::test
