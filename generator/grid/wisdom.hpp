#pragma once
#include <memory>
#include <span>
#include <string_view>
#include <trifold/grid_spec.hpp>

#include "generator/program/ladder.hpp"

namespace trifold {

/// The key of a problem in wisdom. Of its operations it has only whether anything solves: they have the same factors. Throws SpecError
/// where the GridSpec is wrong.
ProblemKey key_of(const GridSpec& spec, const Target& target, int workers);
/// The GridSpec of a key. Throws SpecError where its texts are none of grids, or not as key_of writes them.
GridSpec grid_of(const ProblemKey& key);
bool is_grid(const ProblemKey& key);

/// A problem whose variant is open, as wisdom is told of it. Throws SpecError where the GridSpec or the target is wrong.
std::unique_ptr<const WisdomProblem> wisdom_problem(const GridSpec& spec, const Target& target, const GridTuning& tuning);
/// Chooses as choose(spec, target, tuning) does, with the row that was found.
GridChoice choose_with(const WisdomAnswer& answer, const GridSpec& spec, const Target& target, const GridTuning& tuning);
/// The ladder: what the caller pinned, then what look_up finds in the files, then rows of the device. Throws SpecError.
GridChoice choose(const GridSpec& spec, const Target& target, const GridTuning& tuning, std::string_view device,
                  std::span<const Wisdom* const> files);

}  // namespace trifold
