#pragma once
#include <memory>
#include <trifold/grid.hpp>

namespace trifold::python {

/// A GridSolver for as long as this lives. Then it waits for the next one who asks for its like: its memory costs more to make than a
/// small image takes to solve.
class PooledGridSolver {
  public:
    /// Compiles at the first call for such images. Work of others with the solver, if there was any, was on the same stream. Throws what
    /// GridPlan throws. Needs no lock of Python.
    PooledGridSolver(const GridSpec& spec, const Device& device, const GridTuning& tuning, Stream stream);
    PooledGridSolver(const PooledGridSolver&) = delete;
    PooledGridSolver& operator=(const PooledGridSolver&) = delete;
    ~PooledGridSolver();
    GridSolver* operator->() const { return solver_.get(); }
    GridSolver& operator*() const { return *solver_; }
    const GridPlan& plan() const { return plan_; }
    /// To be said before each call: the stream that it goes to.
    void goes_to(Stream stream) { stream_ = stream; }

  private:
    int forks_;  // when the solver was made: a fork takes its threads from it
    GridPlan plan_;
    std::unique_ptr<GridSolver> solver_;
    Stream stream_;
};

}  // namespace trifold::python
