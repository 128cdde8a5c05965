#pragma once
#include <string>
#include <vector>

namespace trifold::command {

/// How an iteration converged: relative residuals after 0, 1, .. iterations on a logarithmic axis, a line for each right-hand side, and the
/// tolerance. Residuals that are no number end a line.
std::string convergence_svg(const std::vector<std::vector<double>>& histories, double tolerance);

}  // namespace trifold::command
