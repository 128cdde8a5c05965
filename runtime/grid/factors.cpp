#include "runtime/session/factors.hpp"

#include <fmt/ranges.h>

#include <trifold/grid_factors.hpp>

#include "runtime/grid/solver_impl.hpp"

namespace trifold {

std::string key_of(const GridSpec& s, const Device& device, const GridTuning& tuning) {
    auto key = fmt::format("{} {} {} {} {} {} {} {} | {} {} | {} {} {} |", s.width, s.height, to_string(s.precision), to_string(s.matrix),
                           to_string(s.pivoting), to_string(s.boundary), s.rhs, s.batch, to_string(device.target()), device.ordinal(),
                           tuning.workers, tuning.spin_microseconds, tuning.variant);
    for (const auto operation : s.operations) key += fmt::format(" {}", to_string(operation));
    return key;
}

std::int64_t batch_of(const GridPlan& plan) { return plan.spec().batch; }

template class FactorsOf<GridPlan, GridSolver>;

}  // namespace trifold
