#pragma once
#include <optional>
#include <string>
#include <vector>

#include "generator/spec.hpp"
#include "generator/target.hpp"

namespace trifold {

inline constexpr std::int64_t max_export_block = 64;

/// The values of one problem, in double, dense: D [N][n][n], of which the lower triangles count, E [N-1][n][n], B [N][n][m].
struct ProblemData {
    std::vector<double> d, e, b;
};

/// A self-contained C project to make: a solver for one Spec, without Trifold, heap or operating system.
struct ExportRequest {
    Spec spec;                        ///< one system, row-major and dense, E the lower coupling
    Target target;                    ///< of Backend::c99
    std::string prefix = "btd";       ///< of every name; a C identifier
    std::optional<ProblemData> data;  ///< baked in for the example; otherwise it makes its own
};

/// Text of one file of a project, and its name there.
struct ExportedFile {
    std::string name, text;
};

/// Pure: same request, same bytes. Throws SpecError.
std::vector<ExportedFile> export_project(const ExportRequest& request);

/// Arithmetic of one call; the same whatever the numbers are, but for a call that fails, which does less.
struct OperationCounts {
    std::int64_t multiply_subtract = 0;  ///< two roundings, or one where the compiler fuses them
    std::int64_t multiply = 0, divide = 0, square_root = 0;
    std::int64_t flops() const { return 2 * multiply_subtract + multiply + divide + square_root; }
};
/// What templates/c99 performs: an odd last row or column counts twice, because it is computed twice.
OperationCounts exported_factor_counts(const Spec& spec);
OperationCounts exported_solve_counts(const Spec& spec);

}  // namespace trifold
