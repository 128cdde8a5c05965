#pragma once
#include "tools/trifold/verbs.hpp"

namespace trifold::command {

/// Adds `report` to `trifold tune`. The action is for when it was given: it writes the page, and prints where and of how much.
Action add_tune_report(CLI::App& tune, const bool& json);

}  // namespace trifold::command
