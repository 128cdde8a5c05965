#pragma once
#include <filesystem>

#include "tools/tune/search.hpp"

namespace trifold::tune {

/// A sweep that was recorded: a trial a line, as `to_json` writes it. Throws InputError naming a line that is none; the last one may be cut
/// off.
std::vector<Trial> read_trials(const std::filesystem::path& path);

/// What a strategy finds at the points of a recorded sweep, without a device.
struct Replay {
    std::string strategy;
    std::size_t points = 0, trials = 0;      ///< the latter are candidates that it measured, of all points
    double geometric_mean = 1, largest = 1;  ///< regret: time of what it found over the best of all that was recorded
    double gain = 1;                         ///< geometric mean of the default's time over that of what was found
};
/// Of no search at all: of the default as it was recorded, and of what is the default now, at the points where that was measured; then of
/// the strategies quick, full and exhaustive, and of drawing as many candidates as `full` has at random.
std::vector<Replay> replay(const std::vector<Trial>& trials, std::uint64_t seed = 0);

}  // namespace trifold::tune
