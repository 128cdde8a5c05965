#pragma once
#include <trifold/generate.hpp>

#include "generator/tridiagonal/design.hpp"

namespace trifold {

/// Corrections of a solution at most. A member that has converged, or does not get nearer, sits the rest out.
inline constexpr int refinement_rounds = 10;

/// The spec of the kernels that factor and sweep. Of a mixed one: of the copies in f32 that stand in the workspace, dense and row-major,
/// and of the operations that a refinement is made of. Else the spec itself.
Spec inner_spec(const Spec& spec);

/// Largest backward error |b - A x| / (|A| |x| + |b|) of a row of a converged solution: above what rounding sums of 3 n products, x and b
/// leaves on average, since the largest of all rows counts.
double backward_error_bound(std::int64_t block);

/// The Program of mixed precision around the one in f32 that `inner` is the Design of: its units and one more, its buffers and more, and
/// operations that factor a copy in f32 and refine its solutions in f64.
Program wrap_mixed(Design inner, Packing packing);

}  // namespace trifold
