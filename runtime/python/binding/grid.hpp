#pragma once
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/python/binding/array.hpp"
#include "runtime/python/binding/grid_pool.hpp"

namespace trifold::python {

/// What the caller says of A besides its entries, as text of a GridSpec.
struct GridWishes {
    std::string matrix = "general", pivoting = "partial", boundary = "natural";
    std::int64_t rhs = 1;  ///< right-hand sides solved at once
    int workers = 1;
    bool accept_nearly_singular = false;  ///< and unstable ones
};
/// Sizes and precision are left to the caller. Throws SpecError on words that are not known.
GridSpec grid_spec_of(const GridWishes& wishes);

/// An outcome as trifold.grid.Status has it.
nb::tuple grid_outcome(const GridOutcome& outcome);

/// A factored, for arrays of Python: what trifold.grid.Factor is written with. Stencils are (..., H, W, 9), B and X (..., H, W) or
/// (..., H, W, m) with the axes of the stencils in front. Calls of several threads wait for one another.
class BoundGrid {
  public:
    BoundGrid(nb::handle stencil, const GridWishes& wishes, const GridOperations& operations);
    BoundGrid(const BoundGrid&) = delete;
    BoundGrid& operator=(const BoundGrid&) = delete;
    ~BoundGrid();

    void factor(std::optional<bool> check);
    /// Factors and solves; then so many steps of refinement.
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
    /// Of each image; it reads the stencil again, in the host's memory.
    nb::list reciprocal_condition();
    void check();
    nb::tuple batch_shape() const;  ///< the axes in front of H and W
    const GridSpec& spec() const { return loan_->plan().spec(); }

  private:
    void take_place(const Array& array) const;
    void expect_real(const Array& array) const;
    /// B or its like: its right-hand sides.
    std::int64_t read_rhs(Array& array, nb::handle given, const char* name) const;
    nb::object read_or_make(Array& array, nb::handle given, const char* name, std::span<const std::int64_t> shape, Library library) const;
    nb::object finish(const Array& like, const nb::object& result) const;
    bool checks(std::optional<bool> asked) const { return asked.value_or(place_.ordinal < 0); }
    /// On the host arrays go with their sizes: then the solver looks closer where it doubts.
    bool on_host() const { return place_.ordinal < 0; }
    GridOptions options(std::int64_t columns = 0) const { return {.columns = columns, .accept_nearly_singular = accept_}; }
    template <class Body>
    void run(Body body);

    Array stencil_;  // held, for a refinement reads it again
    Library library_ = Library::numpy;
    Place place_;
    int forks_;
    bool accept_;
    std::unique_ptr<std::mutex> in_call_ = std::make_unique<std::mutex>();
    std::unique_ptr<GridLoan> loan_;
};

}  // namespace trifold::python
