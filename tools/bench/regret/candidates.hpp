#pragma once
#include "tools/bench/regret/points.hpp"

namespace trifold::regret {

/// A schedule with a variant that takes it.
struct Candidate {
    std::string schedule, variant;
    bool is_auto = false;         ///< the chooser's own choice
    double modelled_seconds = 0;  ///< what the chooser's model says of it
    std::int64_t thirds = 0;      ///< flops of one system, in thirds of n^3
};

/// The chooser's choice first, then what a measurement should compare it with: of every variant and every kind of schedule the one of least
/// modelled time, the variants in turn, `most` in all. What the model takes for six times slower than the best (a variant's fastest: for
/// thirty times) is left out, but only where another candidate is both faster by the model and has no more flops: so some stay that the
/// model may be wrong about.
std::vector<Candidate> candidates(const Spec& spec, const Target& target, int workers, std::size_t most);

}  // namespace trifold::regret
