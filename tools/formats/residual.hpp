#pragma once
#include <cmath>
#include <span>
#include <vector>

#include "tools/formats/assemble.hpp"
#include "tools/formats/block_rows.hpp"
#include "tools/formats/grid.hpp"

namespace trifold::formats {

/// The larger of two residuals, and NaN once there is one.
template <class Real>
Real worse(Real one, Real other) {
    return !(other <= one) && !std::isnan(one) ? other : one;
}

/// ||A x - b|| / (||A|| ||x|| + ||b||) by member, infinity norms; the worst of its columns. NaN where x is NaN.
/// x: in the layout of system.b. An image's Spec says which entries are read.
std::vector<double> relative_residuals(const System& system, std::span<const double> x);
std::vector<double> relative_residuals(const GridSystem& system, const GridSpec& spec, std::span<const double> x);

/// |b - A x| / |b|; |b - A x| where b is zero. NaN where x is NaN.
double relative_residual(const BlockRows& a, const std::vector<double>& x, const std::vector<double>& b, std::int64_t columns,
                         std::int64_t column);

/// b - A x, and how much entries of A and b would have to change, over their size, for x to be exact; infinity where x is not finite.
/// The worst of all columns. Rows in which all of |A| |x| and b is rounding are measured against the largest x.
/// Source: Arioli, Demmel and Duff 1989, section 4.
struct BackwardError {
    std::vector<double> residual;  ///< as b
    double worst = 0;
};
/// rounding: half the distance from 1 to the next number of the precision that x is in.
BackwardError backward_error(const BlockRows& a, const std::vector<double>& x, const std::vector<double>& b, std::int64_t columns,
                             double rounding);

}  // namespace trifold::formats
