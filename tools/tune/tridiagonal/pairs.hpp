#pragma once
#include <trifold/generate.hpp>
#include <vector>

#include "tools/tune/trial.hpp"

namespace trifold::tune::tridiagonal {

/// A schedule with a variant that takes it.
struct Pair {
    Candidate candidate;
    std::int64_t thirds = 0;  ///< flops of one system, in thirds of n^3
};

/// Names of schedules that differ in one number. Of each kind a variant has one candidate, the fastest by the model.
using Kind = std::vector<std::string>;

/// The chooser's choice first, then what a measurement should compare it with: of every variant and every kind of schedule the one of least
/// modelled time, the variants in turn. What the model takes for six times slower than the best (a variant's fastest: for thirty times) is
/// left out, but only where another pair is both faster by the model and has no more flops: so some stay that the model may be wrong about.
/// Empty where the chooser finds nothing.
std::vector<Pair> pairs(const Spec& spec, const Target& target, int workers, const std::vector<Kind>& kinds);
/// Common schedules, a few of each kind.
const std::vector<Kind>& usual_kinds();

}  // namespace trifold::tune::tridiagonal
