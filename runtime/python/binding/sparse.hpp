#pragma once
#include <initializer_list>
#include <memory>
#include <mutex>
#include <string>
#include <trifold/sparse.hpp>
#include <vector>

#include "runtime/base/forks.hpp"
#include "runtime/python/binding/array.hpp"

namespace trifold::python {

/// A failure as trifold.SparseFailed has it: (problem, row, column).
nb::tuple sparse_problem(const SparseFailed::Failure& failure);

/// The solver of a BoundSparse. XLA's threads call it too, by its number, and may do so last. Calls wait for one another.
class SharedSparse {
  public:
    explicit SharedSparse(const SparsePlan& plan) : solver_(std::make_unique<SparseSolver>(plan)) {}
    SharedSparse(const SharedSparse&) = delete;
    SharedSparse& operator=(const SharedSparse&) = delete;
    ~SharedSparse();
    const SparsePlan& plan() const { return solver_->plan(); }

    template <class Body>
    void locked(Body body) {
        const std::scoped_lock lock(*in_call_);
        kept_.clear();  // the body may update
        body(*solver_);
    }
    /// x of A x = b, or of A' x = b, with these values of A, which are not taken again where the last call on the host had the same ones.
    /// NaN in the columns that fail.
    void solve(const AnyArray& values, const AnyArray& b, const AnyArray& x, bool transposed, Stream stream, const SparseOptions& options);

  private:
    void take(const AnyArray& values, Stream stream, const SparseOptions& options);

    int born_ = forks();  // a fork takes a solver's threads from it
    PerProcess<std::mutex> in_call_;
    std::unique_ptr<SparseSolver> solver_;
    std::vector<std::byte> kept_;  // the values that are factored, where solve() has taken them
};

/// The solver with that number. Throws SpecError where it is no more.
std::shared_ptr<SharedSparse> shared_sparse(std::int64_t number);

/// A pattern and its values, for arrays that are of the plan's type and without gaps, all on the host or all on the plan's GPU: what
/// trifold.sparse.Solver is written with. Calls of several threads wait for one another.
class BoundSparse {
  public:
    /// `parts` is None, or the subdomain of each row. settings: fields of a SparseSpec, partition, subdomain, variant and workers. With a
    /// transport ranks share the iteration, and solve is the only call.
    BoundSparse(nb::handle starts, nb::handle columns, nb::handle parts, nb::handle device, const nb::dict& settings,
                std::shared_ptr<Transport> transport);
    BoundSparse(const BoundSparse&) = delete;
    BoundSparse& operator=(const BoundSparse&) = delete;
    ~BoundSparse();

    /// Throws SparseFailed on values that cannot be factored.
    void update(nb::handle values, double shift);
    void run(const std::string& operation, nb::handle b, nb::handle x, std::int64_t columns);
    /// For each right-hand side (end, iterations, |b - A x|, |b|, history). `check`: throws SparseFailed unless all have converged.
    nb::list solve(nb::handle b, nb::handle x, std::int64_t columns, bool transposed, bool guess, double rtol, double atol,
                   std::int64_t maxiter, bool check, nb::handle callback);
    void gradient(nb::handle x, nb::handle by_b, nb::handle by_values, std::int64_t columns);
    /// Solves as SharedSparse::solve does, for arrays of the host.
    void solve_with(nb::handle values, nb::handle b, nb::handle x, std::int64_t columns, bool transposed, double rtol, double atol,
                    std::int64_t maxiter, double shift);
    nb::dict summary() const;
    double usual_tolerance() const;
    std::string device() const;                      ///< "cpu" or "cuda:0"
    std::int64_t number() const { return number_; }  ///< for shared_sparse

  private:
    /// The stream that is current where the arrays of a call are. Throws SpecError where they are apart, or on another GPU.
    Stream stream_of(std::initializer_list<const Array*> arrays) const;
    template <class Body>
    void locked(Body body);

    std::shared_ptr<SharedSparse> solver_;
    std::int64_t number_;
};

}  // namespace trifold::python
