#include "runtime/session/factors.hpp"

#include <trifold/factors.hpp>

#include "runtime/tridiagonal/solver_impl.hpp"

namespace trifold {
namespace {

std::string layout_key(const BlockLayout& layout) { return fmt::format("{}/{}/{}", layout.leading, layout.stage, layout.member); }

}  // namespace

std::string key_of(const Spec& s, const Device& device, const Tuning& tuning) {
    return fmt::format("{} {} {} {} {} {} {} {} {} {} {} | {} {} | {} {} {} {}", s.block, s.horizon, to_string(s.precision), s.rhs, s.batch,
                       static_cast<int>(s.order), static_cast<int>(s.coupling), static_cast<int>(s.rhs_layout), layout_key(s.d),
                       layout_key(s.e), to_string(s.operations), to_string(device.target()), device.ordinal(), tuning.schedule,
                       tuning.variant, tuning.workers, tuning.spin_microseconds);
}

std::int64_t batch_of(const Plan& plan) { return plan.choice().spec.batch; }

template class FactorsOf<Plan, Solver>;

}  // namespace trifold
