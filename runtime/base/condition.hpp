#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace trifold {

/// Replaces the vectors of all systems, one behind the other, by A^-1 times them, or by A'^-1 times them.
using Applied = std::function<void(std::span<double>)>;

/// Estimates of the 1-norms of A^-1 of several systems of n unknowns, never above them but by rounding, by at most 13 solutions of all:
/// Hager's method, as Higham improved it (ACM Transactions on Mathematical Software 14, 1988, 381), which LAPACK's xLACN2 has too. Infinite
/// where a solution holds infinities or NaN; 0 where n is 0.
std::vector<double> inverse_norm_estimates(std::int64_t n, std::int64_t systems, const Applied& solve, const Applied& solve_transposed);
/// The estimate of one system.
double inverse_norm_estimate(std::int64_t n, const Applied& solve, const Applied& solve_transposed);

}  // namespace trifold
