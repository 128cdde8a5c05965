#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "generator/program/wisdom.hpp"
#include "tools/tune/trial.hpp"

namespace trifold::tune {

/// A decision as a row of a wisdom file, which names generator, driver, effort and trials in `measured`. Throws SpecError.
WisdomRow row_of(const Decision& decision);
/// The reverse. What the default was is not in a row. Without such a `measured` the generator version is "unknown".
Decision decision_of(const WisdomRow& row);

/// Rows of several files: of two of one key the one with the greater gain over its default, or the later of two with the same gain.
struct MergedRows {
    std::vector<WisdomRow> rows;
    std::vector<std::string> conflicts;  ///< where two rows of one key make other kernels: both, and which was taken
};
MergedRows merge(const std::vector<std::vector<WisdomRow>>& files);

/// Trials as lines of JSON, one each; blank lines are skipped. Throws InputError with the line where one is no trial, or none that can have
/// been made: a sound one has the seconds of its objective.
std::vector<Trial> parse_trials(std::string_view text);

}  // namespace trifold::tune
