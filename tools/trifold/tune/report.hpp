#pragma once
#include "tools/trifold/verbs.hpp"

namespace trifold::command {

/// `trifold tune report` writes a page about a sweep, and prints where and of how much.
Action add_tune_report(CLI::App& app, const bool& json);

}  // namespace trifold::command
