#pragma once
#include <cmath>
#include <span>
#include <vector>

#include "tools/formats/assemble.hpp"

namespace trifold::formats {

/// Residuals are computed in this type: products of the largest and of the smallest doubles, and squares of those, are in its range.
using Wide = long double;

/// The larger of two residuals, and NaN once there is one.
template <class Real>
Real worse(Real one, Real other) {
    return !(other <= one) && !std::isnan(one) ? other : one;
}

/// ||A x - b|| / (||A|| ||x|| + ||b||) by member, infinity norms; the worst of its columns. NaN where x is NaN.
/// x: [batch][N][n][m], in the layout of system.b.
std::vector<double> relative_residuals(const System& system, std::span<const double> x);

}  // namespace trifold::formats
