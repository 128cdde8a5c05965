#pragma once
#include <optional>
#include <string>
#include <trifold/error.hpp>
#include <trifold/spec.hpp>
#include <trifold/target.hpp>
#include <vector>

#include "generator/export/text.hpp"

namespace trifold {

inline constexpr std::int64_t max_export_block = 64, max_export_border = 16;

/// The values of one problem, in double, dense: D [N][n][n], of which the lower triangles count, E [N-1][n][n], B [N][n][m].
struct ProblemData {
    std::vector<double> d, e, b;
};

/// A matrix whose factors become constants: D [N][n][n], of which the lower triangles count, and E [N-1][n][n], in double. For each
/// shift those of A + shift I.
struct Prefactored {
    std::vector<double> d, e;
    std::vector<double> shifts = {0};
    bool accept_nearly_singular = false;
};

/// A + shift I is not positive definite, so that there are no factors to export.
class IndefiniteMatrix : public Error {
  public:
    IndefiniteMatrix(const std::string& message, std::int64_t in_block, std::int64_t in_row)
        : Error(message), block(in_block), row(in_row) {}
    std::int64_t block, row;  ///< place of the pivot that fails, from 0
};

/// A = L L', or A = L P L' with P the pivots and ones on L's diagonal, which takes no square roots.
enum class Factorization { llt, ldlt };
std::string_view to_string(Factorization factorization);
/// "llt" or "ldlt"; throws SpecError on anything else.
Factorization parse_factorization(std::string_view text);

/// The aim of plain C: the fewest instructions, or the least code that still is quick.
enum class Optimize { speed, size };
std::string_view to_string(Optimize optimize);
/// "speed" or "size"; throws SpecError on anything else.
Optimize parse_optimize(std::string_view text);

/// A self-contained C project to make: a solver for one Spec, without Trifold, heap or operating system.
struct ExportRequest {
    Spec spec;                                    ///< one system; layouts of D and E other than the default for the sequential schedule
    Target target;                                ///< its backend is c99
    std::string prefix = "btd";                   ///< begins every name; a C identifier
    std::optional<ProblemData> data;              ///< baked in for the example; otherwise it makes its own
    std::optional<Prefactored> prefactored = {};  ///< factors as constants: a solver that only solves
    std::string schedule = "sequential";          ///< or partitioned:p or twisted:p, whose chains the caller may run side by side
    Factorization factorization = Factorization::llt;
    Optimize optimize = Optimize::speed;  ///< for plain C; no bit of X depends on it
    std::int64_t corrections = 0;         ///< corrections of a refined solution; 0: there is no call that refines
};
inline constexpr std::int64_t max_corrections = 10;

/// Whether kernels do the work, and not plain C: those of the target or, of a general matrix, the library's in vectors of one number.
bool uses_kernels(const ExportRequest& request);

/// Pure: same request, same bytes. Throws SpecError, IndefiniteMatrix, NearlySingular.
std::vector<ExportedFile> export_project(const ExportRequest& request);

/// Arithmetic of one call; the same whatever the numbers are, but for a call that fails, which does less.
struct OperationCounts {
    std::int64_t multiply_subtract = 0;  ///< two roundings, or one where the compiler fuses them
    std::int64_t multiply = 0, divide = 0, square_root = 0;
    std::int64_t add = 0;
    std::int64_t flops() const { return 2 * multiply_subtract + multiply + divide + square_root + add; }
};
/// Arithmetic of the plain C. A solve has one multiply-subtract more for each element of X, and three additions: the test of X.
OperationCounts exported_factor_counts(const ExportRequest& request);
OperationCounts exported_solve_counts(const ExportRequest& request);
/// Flops of one correction of a refined solution, without the solve: residual and sum, with fused products or without.
std::int64_t correction_flops(const ExportRequest& request, bool fused);

}  // namespace trifold
