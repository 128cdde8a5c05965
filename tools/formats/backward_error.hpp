#pragma once
#include <vector>

#include "tools/formats/block_rows.hpp"

namespace trifold::formats {

/// b - A x, computed in long double, and how much entries of A and b would have to change, over their size, for x to be exact; infinity
/// where x is not finite. The worst of all columns. Rows in which all of |A| |x| and b is rounding are measured against the largest x.
/// Source: Arioli, Demmel and Duff 1989, section 4.
struct BackwardError {
    std::vector<double> residual;  ///< as b
    double worst = 0;
};
/// rounding: half the distance from 1 to the next number of the precision that x is in.
BackwardError backward_error(const BlockRows& a, const std::vector<double>& x, const std::vector<double>& b, std::int64_t columns,
                             double rounding);

}  // namespace trifold::formats
