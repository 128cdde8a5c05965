#include "generator/cost.hpp"

namespace trifold {

Schedule choose_schedule(const Spec& spec, const Target& target, std::int64_t workers) {
    if (target.backend == Backend::cuda) return multi_stage(spec.horizon);
    return twisted(spec.horizon, workers > 1 ? workers : 1);
}

}  // namespace trifold
