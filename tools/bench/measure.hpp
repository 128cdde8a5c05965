#pragma once
#include "tools/bench/contender.hpp"

namespace trifold::bench {

/// A solver that takes part.
struct Entry {
    std::string name;
    std::function<std::unique_ptr<Contender>(DeviceTools&)> make;
};

/// One problem, and those who solve it.
struct Contest {
    const Problem& problem;
    std::vector<Entry> entries;
    double tolerance;  ///< of the relative residual
    Budget budget;
    bool by_turns = false;                                                 ///< on a processor: all in rounds
    std::function<Work(const std::string& operation)> work = {};           ///< where it is the same for all solvers
    std::function<std::optional<double>(const Work&)> floor_seconds = {};  ///< where the device's rates are known
};

struct Listener {
    std::function<void(const Result&)> result;
    std::function<void(const std::string& solver, const std::string& message)> failure;
};

/// Every solver on the problem. One that cannot do it is said, and the others go on.
void measure(const Contest& contest, DeviceTools& tools, const Listener& listener);

/// The peers that fit a problem.
std::vector<Entry> entries_of(const std::vector<Peer>& peers, const Problem& problem);

}  // namespace trifold::bench
