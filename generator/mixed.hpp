#pragma once
#include <string>
#include <trifold/program.hpp>

namespace trifold {

/// Corrections of a solution at most. A member that has converged, or does not get nearer, sits the rest out.
inline constexpr int refinement_rounds = 10;

/// The spec of the kernels that factor and sweep: of a mixed one, of the copies in f32 that stand in the workspace, dense and row-major;
/// else the spec itself.
Spec inner_spec(const Spec& spec);

/// Largest backward error ||b - A x|| / (||A|| ||x|| + ||b||) (infinity norms) of a converged solution: what rounding sums of 3 n products,
/// x and b leaves. LAPACK's dsgesv stops at a like bound, with the order of its dense matrix in place of the 3 n entries of a row.
double backward_error_bound(std::int64_t block);

/// The constants of templates/mixed.h, cpu/mixed.c and device/mixed.cuh as macros; empty unless the Program is mixed.
std::string mixed_constants(const Program& program);

}  // namespace trifold
