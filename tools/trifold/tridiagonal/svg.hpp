#pragma once
#include <string>
#include <trifold/schedule.hpp>

namespace trifold::command {

/// The elimination tree by level: blocks along x, levels upward, each chain a line of fronts with an arrow in its direction,
/// joined to the separators it updates, which stand where they are eliminated. Chains too many to tell apart become a band.
std::string elimination_tree_svg(const Schedule& schedule, const std::string& title);

}  // namespace trifold::command
