#pragma once
#include <stdexcept>
#include <trifold/trifold.hpp>

#include "tools/tune/data.hpp"
#include "tools/tune/outputs.hpp"
#include "tools/tune/series.hpp"
#include "tools/tune/trial.hpp"

namespace trifold::tune {

/// Thrown where a candidate does not fit into the device's memory.
class TooLarge : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Registers, shared memory and spills of all kernels of a Plan.
nlohmann::ordered_json kernels_of(const Plan& plan);
/// Of all kernels together, as kernels_of gives them.
std::int64_t spill_bytes(const nlohmann::ordered_json& kernels);

/// Throws TooLarge where workspace and data need nearly all of the device's memory, or more.
void check_memory(const Plan& plan, std::int64_t data_bytes, const Device& device);

/// Whether the device still takes work: a launch that failed leaves a context in which nothing runs any more.
bool still_works(const DeviceTools& tools);

/// A candidate that is ready to run on the data of its point. The data must outlive it.
class Prepared {
  public:
    /// Throws TooLarge and what the library throws.
    Prepared(const Point& point, const Candidate& candidate, const Device& device, const Data& data, DeviceTools& tools);
    const Plan& plan() const { return plan_; }
    /// Of X, after a call of factor_solve, or of what else solves.
    double residual();
    Outputs outputs() { return outputs_of(solver_, data_, tools_); }
    /// A call of an operation, which takes the next set of the data each time. Factors first where the operation needs it.
    Timed timed(Operation operation);

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

}  // namespace trifold::tune
