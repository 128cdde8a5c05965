#pragma once
#include <cstdint>
#include <functional>
#include <span>

namespace trifold {

/// Replaces a vector by A^-1 times it, or by A'^-1 times it.
using Applied = std::function<void(std::span<double>)>;

/// An estimate of the 1-norm of A^-1, never above it but by rounding, by a few solutions: Hager's method, as Higham improved it (ACM Trans.
/// Math. Softw. 14, 1988; LAPACK's dlacn2). `solve` has A^-1 and `solve_transposed` A'^-1 of a matrix of n rows. Infinite where a solution
/// holds no numbers.
double inverse_norm_estimate(std::int64_t n, const Applied& solve, const Applied& solve_transposed);

}  // namespace trifold
