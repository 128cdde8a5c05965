#pragma once
#include <memory>
#include <trifold/call.hpp>
#include <trifold/device.hpp>
#include <trifold/generate.hpp>

namespace [[gnu::visibility("default")]] trifold {

/// Generated, compiled or taken from the cache, loaded. Immutable; may be shared between threads and Solvers.
class Plan {
  public:
    using spec_type = Spec;
    using tuning_type = Tuning;
    /// Throws SpecError, CompileError, CacheError, DeviceError. The other functions throw SpecError when the Plan has been moved from.
    Plan(const Spec& spec, const Device& device, const Tuning& tuning = {});
    /// A Plan whose Solvers solve for `columns` right-hand sides at a time, from factors of this one's: Solver::take_factor. It is this one
    /// where that gains nothing: widened() of its choice says when.
    Plan widened(std::int64_t columns) const;
    const Choice& choice() const;    ///< the Spec, and what was decided
    const Program& program() const;  ///< the generated Program, without the sources of its units
    const Device& device() const;
    const PlanReport& report() const;  ///< waits until the code of every operation is there

    struct [[gnu::visibility("hidden")]] State;
    [[gnu::visibility("hidden")]] const std::shared_ptr<const State>& state() const;

  private:
    [[gnu::visibility("hidden")]] const State& get() const;
    std::shared_ptr<const State> state_;
};

}  // namespace trifold
