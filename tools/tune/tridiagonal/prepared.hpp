#pragma once
#include <trifold/trifold.hpp>

#include "tools/tune/tridiagonal/data.hpp"

namespace trifold::tune::tridiagonal {

/// How a system fared. Which pivots there are, and so the least of them, depends on the order of elimination: it is left out.
std::string fared(const Outcome& outcome);
/// Calls every operation of the Spec on the first set of the data. Throws what the library throws.
Outputs outputs_of(Solver& solver, const Data& data, DeviceTools& tools);

class PreparedSolver : public Prepared {
  public:
    /// Throws TooLarge and what the library throws.
    PreparedSolver(const Point& point, const Candidate& candidate, const Device& device, const Data& data, DeviceTools& tools);
    const Program& program() const override { return plan_.program(); }
    const std::vector<KernelResources>& resources() const override { return plan_.report().kernels; }
    double residual() override;
    Outputs outputs() override { return outputs_of(solver_, data_, tools_); }
    Timed timed(const std::string& operation) override;

  private:
    template <class Real>
    std::function<void(std::int64_t set)> call_in(Operation operation);
    std::function<void(std::int64_t set)> call_of(Operation operation);
    bool has(Operation operation) const { return plan_.choice().spec.operations.contains(operation); }
    void factor();

    const Data& data_;
    DeviceTools& tools_;
    const Plan plan_;
    Solver solver_;
    std::shared_ptr<void> inverse_;  // both results of the selected inverse
};

}  // namespace trifold::tune::tridiagonal
