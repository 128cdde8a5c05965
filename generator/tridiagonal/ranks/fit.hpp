#pragma once
#include <string>
#include <string_view>
#include <trifold/ranks.hpp>

/// Modelled times of ranks on GPUs, and what follows from them.
namespace trifold::ranks {

/// Modelled seconds of the rank that takes longest for its own blocks, by the schedule of that name.
double own_seconds(const RankSpec& spec, const Choice& agreed, std::string_view schedule);

/// The schedule of own blocks with the least modelled time.
std::string fastest_schedule(const RankSpec& spec, const Choice& agreed);

}  // namespace trifold::ranks
