#pragma once
#include <initializer_list>
#include <memory>
#include <mutex>
#include <string>
#include <trifold/sparse.hpp>

#include "runtime/base/forks.hpp"
#include "runtime/python/binding/array.hpp"

namespace trifold::python {

/// How a sparse system is solved, as text of a SparseSpec and a SparsePartition.
struct SparseSettings {
    std::int64_t block = 1;
    std::string dtype = "float64", preconditioner = "ildu0", method = "bicgstab", partition = "automatic";
    std::int64_t restart = 30, rhs = 1, most_iterations = 10000, subdomain = 0;
    int workers = 1;
};

/// A failure as trifold.SparseFailed has it: (problem, row, column).
nb::tuple sparse_problem(const SparseFailed::Failure& failure);

/// A pattern and its values, for arrays that are of the plan's type and without gaps, all on the host or all on the plan's GPU: what
/// trifold.sparse.Solver is written with. Calls of several threads wait for one another.
class BoundSparse {
  public:
    /// `parts` is None, or the subdomain of each row.
    BoundSparse(nb::handle starts, nb::handle columns, nb::handle parts, nb::handle device, const SparseSettings& settings);
    BoundSparse(const BoundSparse&) = delete;
    BoundSparse& operator=(const BoundSparse&) = delete;
    ~BoundSparse();

    /// Throws SparseFailed on values that cannot be factored.
    void update(nb::handle values, double shift);
    void run(const std::string& operation, nb::handle b, nb::handle x, std::int64_t columns);
    /// For each right-hand side (end, iterations, |b - A x|, |b|, history). `check`: throws SparseFailed unless all have converged.
    nb::list solve(nb::handle b, nb::handle x, std::int64_t columns, bool transposed, bool guess, double rtol, double atol,
                   std::int64_t most_iterations, bool check);
    void gradient(nb::handle x, nb::handle by_b, nb::handle by_values, std::int64_t columns);
    nb::dict summary() const;
    std::string device() const;  ///< "cpu" or "cuda:0"

  private:
    /// The stream that is current where the arrays of a call are. Throws SpecError where they are apart, or on another GPU.
    Stream stream_of(std::initializer_list<const Array*> arrays) const;
    template <class Body>
    void locked(Body body);

    int born_ = forks();  // a fork takes a solver's threads from it
    PerProcess<std::mutex> in_call_;
    std::unique_ptr<SparseSolver> solver_;
};

}  // namespace trifold::python
