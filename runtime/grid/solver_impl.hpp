#pragma once
#include <trifold/grid_args.h>

#include <array>
#include <memory>
#include <span>
#include <string_view>
#include <trifold/grid.hpp>
#include <vector>

#include "generator/grid/levels.hpp"
#include "runtime/session/family.hpp"
#include "runtime/session/prepared.hpp"
#include "runtime/session/session.hpp"

namespace trifold {

/// The part of a plan that solvers share. Immutable once built.
struct GridPlan::State {
    GridChoice choice;
    std::vector<grid::Level> levels;
    std::shared_ptr<const Prepared> prepared;
};

/// The work behind every overload, for both precisions.
struct GridSolver::Impl {
    Impl(const GridPlan& plan, void* workspace, std::int64_t bytes, Holds holds = Holds::nothing);

    /// Goes on in a workspace in which another solver of the plan has factored that many images, by work that is on the stream.
    void adopt(void* workspace, Stream stream, std::int64_t members);

    /// Fills in what options leave open. Throws SpecError where they or the arrays do not fit the Spec.
    GridOptions resolve(GridOperation operation, const GridOptions& options) const;
    void run(GridOperation operation, std::span<const AnyArray> arrays, Stream stream, const GridOptions& options, bool transposed);

    const std::vector<GridOutcome>& status();
    const std::vector<GridDeterminant>& log_determinant();

    GridPlan plan;
    Session session;
    CallTable table;
    std::int64_t factored = 0;  ///< images that a factorization has covered

  private:
    void enqueue(Session::Call& call, GridOperation operation, const GridOptions& options, bool transposed);
    // Arrays where the device sees them, and options resolved.
    void factor(Session::Call& call, const void* stencil, const GridOptions& options);
    void sweep(Session::Call& call, GridOperation operation, const void* b, void* x, const GridOptions& options);
    void factor_solve(Session::Call& call, const void* stencil, const void* b, void* x, const GridOptions& options);
    void refine(Session::Call& call, const void* stencil, const void* b, void* x, bool transposed, const GridOptions& options);
    void gradient(Session::Call& call, const void* x, const void* by_b, void* by_stencil, const GridOptions& options);

    /// Decides by a step of refinement whether images of f32 are singular whose least pivots are small: a pivot that is rounding alone
    /// leaves the whole solution to the next step. Those are marked, and their X, if it is given, is NaN.
    template <class Real>
    void verify_near_singular(Session::Call& call, const Real* stencil, Real* x, const GridOptions& options);

    void run(Session::Call& call, std::string_view operation, const trifold_grid_args& args) const;
    void run_whole(Session::Call& call, std::string_view operation, trifold_grid_args args) const;
    /// In the host's memory, with the factors that are there, or where the Program has no solution alone, with new ones.
    void solve_again(Session::Call& call, const void* stencil, const void* b, void* x, const GridOptions& options);
    void mark(Session::Call& call, std::int64_t member, trifold_grid_problem problem);
    trifold_grid_args args_of(const void* b, void* x, const GridOptions& options, std::int64_t first) const;
    std::span<const trifold_grid_status> statuses(Session::Call& call) const;
    GridOutcome outcome_of(const trifold_grid_status& status) const;

    std::vector<GridOutcome> outcomes_;
    std::vector<GridDeterminant> determinants_;
};

}  // namespace trifold
