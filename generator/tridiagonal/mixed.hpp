#pragma once
#include <trifold/generate.hpp>

#include "generator/tridiagonal/design.hpp"
#include "generator/tridiagonal/emit.hpp"

namespace trifold {

/// The most corrections of a solution. A member that has converged, or gets no nearer, takes no part in the rest.
inline constexpr int refinement_rounds = 10;

/// The Spec of the kernels that factor and sweep. For a mixed Spec these work on copies in f32, which the workspace holds dense and
/// row-major, and have the operations that a refinement is made of. Otherwise it is the Spec itself. Either way right-hand sides are those
/// of columns_class, unless the variant's sizes are pinned as literals.
Spec kernel_spec(const Spec& spec, std::string_view variant);

/// Constants of templates/tridiagonal/mixed.h, mixed.c and mixed.cuh, refine.c and refine.cuh.
std::vector<Constant> constants_of_mixed(const Spec& spec);

/// The largest backward error |b - A x| / (|A| |x| + |b|) that a row of a converged solution may have. Rounding x, b and sums of 3 n
/// products leaves less on average, but the largest of all rows counts.
double backward_error_bound(std::int64_t block);

/// The Program of mixed precision around the one in f32 that `inner` is the Design of: its units and one more, its buffers and more, and
/// operations that factor a copy in f32 and refine its solutions in f64.
Program wrap_mixed(Design inner, Packing packing);

/// The Program with the operation refine: a unit, buffers and launches around those of a solution.
Program with_refinement(Design inner, Packing packing);

}  // namespace trifold
