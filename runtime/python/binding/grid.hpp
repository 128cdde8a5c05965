#pragma once
#include <memory>
#include <mutex>
#include <optional>

#include "runtime/python/binding/bound.hpp"
#include "runtime/python/binding/grid_pool.hpp"

namespace trifold::python {

/// An outcome as trifold.grid.Status has it.
nb::tuple grid_outcome(const GridOutcome& outcome);

/// A factored, for arrays of Python: what trifold.grid.Factor is written with. Stencils are (..., H, W, 9), B and X (..., H, W) or
/// (..., H, W, m) with the axes of the stencils in front. Calls of several threads wait for one another.
class BoundGrid : Bound {
  public:
    /// settings: fields of a GridSpec, workers and accept_nearly_singular.
    BoundGrid(nb::handle stencil, const nb::dict& settings, const GridOperations& operations);

    void factor(std::optional<bool> check);
    /// Factors and solves; then makes `refine` steps of refinement.
    nb::object factor_solve(nb::handle b, nb::handle out, int refine, std::optional<bool> check);
    nb::object solve(nb::handle b, nb::handle out, bool transposed);
    /// X after one step, in `out` or a new array; `out` may be X.
    nb::object refine(nb::handle b, nb::handle x, nb::handle out, bool transposed);
    /// (dE/dB, dE/dA) from X and dE/dX.
    nb::tuple gradients(nb::handle x, nb::handle by_x);
    /// For each image (log, sign).
    nb::list log_determinant();
    /// For each image what GridOutcome says.
    nb::list status();
    /// One number an image. It reads the stencil again, in the host's memory.
    nb::list reciprocal_condition();
    void check();
    nb::tuple batch_shape() const;  ///< the axes in front of H and W
    const GridSpec& spec() const { return pooled_->plan().spec(); }

  private:
    /// B or its like: its right-hand sides.
    std::int64_t read_rhs(Array& array, nb::handle given, const char* name) const;
    nb::object result(Array& array, nb::handle given, const char* name, const Array& like) const {
        return read_or_make(array, given, name, like.shape(), element_, like.library());
    }
    GridOptions options(std::int64_t columns = 0) const { return {.columns = columns, .accept_nearly_singular = accept_}; }
    /// On the host with its size: then the solver looks closer where it doubts.
    AnyArray sized(const Array& array) const;
    AnyArray plain(const Array& array) const { return {array.data(), false, spec().precision}; }
    template <class Body>
    void run(Body body);

    Array stencil_;  // held, for a refinement reads it again
    bool accept_;
    PerProcess<std::mutex> in_call_;
    std::unique_ptr<PooledGridSolver> pooled_;
};

}  // namespace trifold::python
