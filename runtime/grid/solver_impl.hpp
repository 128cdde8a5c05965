#pragma once
#include <trifold/grid_args.h>

#include <atomic>
#include <span>
#include <string_view>

#include "runtime/device/host_graph.hpp"
#include "runtime/device/host_memory.hpp"
#include "runtime/grid/plan_state.hpp"

namespace trifold {

/// An array of a call: what it is called, where it stands, how many elements it has for each pixel, and how many the caller says it has
/// (-1: who gives a pointer does not say).
struct GridArray {
    std::string_view name;
    const void* data;
    std::int64_t each, size = -1;
    bool written = false;
};

/// What lies behind every overload, for both precisions.
struct GridSolver::Impl {
    explicit Impl(const GridPlan& plan);

    void check_precision(Precision precision) const;
    /// Fills in what options leave open. Throws SpecError where they or the arrays do not fit the Spec.
    GridOptions resolve(GridOperation operation, const GridOptions& options) const;
    void check(std::span<const GridArray> arrays, const GridOptions& options) const;

    void factor(const void* stencil, const GridOptions& options);
    /// By the operation `name`, panel after panel.
    void sweep(const char* name, const void* b, void* x, const GridOptions& options);
    void factor_solve(const void* stencil, const void* b, void* x, const GridOptions& options);
    void refine(const void* stencil, const void* b, void* x, bool transposed, const GridOptions& options);
    void gradient(const void* x, const void* by_b, void* by_stencil, const GridOptions& options);

    const std::vector<GridOutcome>& status();
    const std::vector<GridDeterminant>& log_determinant();

    GridPlan plan;
    HostMemory memory;
    HostGraph graph;
    std::int64_t factored = 0;  ///< images that a factorization has covered
    std::atomic_flag busy;

  private:
    void run(const char* name, const trifold_grid_args& args);
    trifold_grid_args args_of(const void* b, void* x, const GridOptions& options, std::int64_t first) const;
    const trifold_grid_status* statuses() const;
    GridOutcome outcome_of(const trifold_grid_status& status) const;

    std::vector<GridOutcome> outcomes_;
    std::vector<GridDeterminant> determinants_;
};

}  // namespace trifold
