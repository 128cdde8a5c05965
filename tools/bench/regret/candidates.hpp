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

/// The chooser's choice first, then what a measurement should compare it with, `most` in all: tune::pairs of the usual schedules.
std::vector<Candidate> candidates(const Spec& spec, const Target& target, int workers, std::size_t most);

}  // namespace trifold::regret
