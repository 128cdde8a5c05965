#pragma once
#include <span>
#include <vector>

#include "tools/formats/assemble.hpp"

namespace trifold::formats {

/// ||A x - b|| / (||A|| ||x|| + ||b||) by member, infinity norms, in double; the worst of its columns. NaN where x is NaN.
/// x: [batch][N][n][m], in the layout of system.b.
std::vector<double> relative_residuals(const System& system, std::span<const double> x);

}  // namespace trifold::formats
