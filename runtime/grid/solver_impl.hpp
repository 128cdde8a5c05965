#pragma once
#include <trifold/grid_args.h>

#include <atomic>
#include <span>
#include <string_view>

#include "runtime/grid/engine.hpp"

namespace trifold {

/// What a call does with an array.
enum class GridUse { reads, writes, changes };

/// An array of a call: what it is called, where it stands, how many elements it has for each pixel, and how many the caller says it has
/// (-1: who gives a pointer does not say).
struct GridArray {
    GridRole role;
    std::string_view name;
    GridUse use;
    void* data;
    std::int64_t each, size = -1;
};

/// What lies behind every overload, for both precisions.
struct GridSolver::Impl {
    explicit Impl(const GridPlan& plan);

    void check_precision(Precision precision) const;
    /// Fills in what options leave open. Throws SpecError where they or the arrays do not fit the Spec.
    GridOptions resolve(GridOperation operation, const GridOptions& options) const;
    void check(std::span<const GridArray> arrays, const GridOptions& options) const;
    /// Where the device sees an array: itself, or a copy of what stands in the host's memory; and what was changed, back again.
    void* bring(const GridArray& array, const GridOptions& options);
    void take_back(const GridArray& array, const void* device, const GridOptions& options);

    void factor(const void* stencil, Stream stream, const GridOptions& options);
    /// By the operation `name`, panel after panel.
    void sweep(const char* name, const void* b, void* x, Stream stream, const GridOptions& options);
    void factor_solve(const void* stencil, const void* b, void* x, Stream stream, const GridOptions& options);
    void refine(const void* stencil, const void* b, void* x, bool transposed, Stream stream, const GridOptions& options);
    void gradient(const void* x, const void* by_b, void* by_stencil, Stream stream, const GridOptions& options);

    /// Decides by a step of refinement whether images of f32 are singular whose least pivots are small: a pivot that is rounding alone
    /// leaves the whole solution to the next step. Those are marked, and their X, if it is given, is NaN.
    template <class Real>
    void settle_doubts(std::span<const Real> stencil, std::span<Real> x, const GridOptions& options);

    const std::vector<GridOutcome>& status();
    const std::vector<GridDeterminant>& log_determinant();

    GridPlan plan;
    std::unique_ptr<GridEngine> engine;
    std::int64_t factored = 0;  ///< images that a factorization has covered
    std::atomic_flag busy;

  private:
    std::int64_t bytes_of(const GridArray& array, const GridOptions& options) const;
    /// In the host's memory, with the factors that are there, or where the Program has no solution alone, with new ones.
    void solve_again(const void* stencil, const void* b, void* x, const GridOptions& options);
    void mark(std::int64_t member, trifold_grid_problem problem);
    trifold_grid_args args_of(const void* b, void* x, const GridOptions& options, std::int64_t first) const;
    const std::vector<trifold_grid_status>& statuses();
    GridOutcome outcome_of(const trifold_grid_status& status) const;

    std::vector<trifold_grid_status> statuses_;
    std::vector<GridOutcome> outcomes_;
    std::vector<GridDeterminant> determinants_;
};

}  // namespace trifold
