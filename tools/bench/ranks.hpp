#pragma once
#include "tools/bench/ours.hpp"

namespace trifold::bench {

/// Makes the contender of one rank.
using MakeRank = std::function<std::unique_ptr<Contender>(const std::shared_ptr<Transport>&, const Device&, const DeviceTools&)>;

/// Measures steps that all ranks make together; the contender has the results. `gathers`: each rank has a part of the solution, else all
/// have the whole.
std::unique_ptr<Contender> on_ranks(const Ranks& ranks, const Budget& budget, bool gathers, const MakeRank& make);

}  // namespace trifold::bench
