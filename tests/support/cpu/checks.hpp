#pragma once
#include <doctest/doctest.h>
#include <trifold/tridiagonal_args.h>

#include <cmath>

#include "tests/support/cpu/conform.hpp"

namespace trifold::test {

inline void check_errors(const Errors& errors) {
    for (const auto& [name, error] : errors) {
        CAPTURE(name);
        CHECK(error <= 1);
    }
}

/// One random walk for each member: those with an even number have no anchor, and those with an odd one a weak one; of each half has random
/// units.
inline std::vector<System> random_walks(const Spec& spec) {
    const auto anchor = spec.precision == Precision::f64 ? 1e-8 : 3e-3;
    std::vector<System> systems;
    for (unsigned k = 0; k < spec.batch; ++k)
        systems.push_back(random_walk(spec.block, spec.horizon, k % 2 == 0 ? 0 : anchor, k % 4 >= 2, spec.precision, 100 + k));
    return systems;
}

/// Checks what `factor(systems, accept_nearly_singular)`, the statuses of a factorization, says of random walks: those without an anchor
/// are nearly singular or not positive definite, the others sound; acceptance and scaling by powers of two change nothing else.
template <class Factor>
void check_walks(const Spec& spec, const Factor& factor) {
    auto systems = random_walks(spec);
    const std::vector<trifold_status> found = factor(systems, false), accepted = factor(systems, true);
    for (unsigned k = 0; k < spec.batch; ++k) systems[k] = scaled_by_powers_of_two(systems[k], k);
    const std::vector<trifold_status> scaled = factor(systems, false);
    for (std::size_t k = 0; k < found.size(); ++k) {
        CAPTURE(k);
        const bool failed = found[k].block >= 0, singular = found[k].nearly_singular != 0;
        CHECK(((failed || singular) == (k % 2 == 0)));
        CHECK((found[k].least_pivot == 0) == failed);
        CHECK(accepted[k].block == found[k].block);
        CHECK(accepted[k].least_pivot == found[k].least_pivot);
        CHECK(accepted[k].nearly_singular == 0);
        if (k % 4 < 2)
            CHECK(scaled[k].least_pivot == found[k].least_pivot);
        else if (k % 2 == 1)  // kernels of GPUs have another way, with other roundings, for pivots of unusual sizes
            CHECK(std::abs(scaled[k].least_pivot - found[k].least_pivot) <= 1e-3 * found[k].least_pivot);
    }
}

}  // namespace trifold::test
