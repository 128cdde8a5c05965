#pragma once
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <trifold/solver.hpp>
#include <tuple>

#include "runtime/base/forks.hpp"
#include "runtime/python/binding/array.hpp"

namespace trifold::python {

/// Strides of blocks in elements: of a block's rows, of blocks, of members.
using Layout = std::tuple<std::int64_t, std::int64_t, std::int64_t>;

/// trifold._core.AddressSolver: a Solver on addresses, for libraries whose arrays this package does not read. Its caller has checked them:
/// they are of the device, of the Spec's precision and layouts, and live until the stream is done. 0 is the default stream.
class AddressSolver {
  public:
    using Address = std::uintptr_t;
    AddressSolver(std::int64_t block, std::int64_t horizon, const std::string& dtype, std::int64_t batch, std::int64_t rhs,
                  const std::string& device, Layout d, Layout e);
    AddressSolver(const AddressSolver&) = delete;
    AddressSolver& operator=(const AddressSolver&) = delete;
    ~AddressSolver();
    /// Makes all that a call needs, so that the first one can be captured.
    void prepare() { solver_->prepare(); }
    /// Arrays are in the order of Solver::run.
    void run(Operation operation, std::initializer_list<Address> arrays, std::int64_t columns, Address stream);
    /// log det A of every member into doubles of the device: NaN where it is not positive definite.
    void log_determinant(Address to, Address stream);

  private:
    std::unique_ptr<Solver> solver_;
    int born_ = forks();  // a fork takes a solver's threads from it
};

void bind_addresses(nb::module_& module);

}  // namespace trifold::python
