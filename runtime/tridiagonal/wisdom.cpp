#include "runtime/tridiagonal/wisdom.hpp"

namespace trifold {

Choice choose_by_wisdom(const Spec& spec, const Target& target, const Tuning& tuning, std::string_view device) {
    if (!is_open(tuning)) return choose(spec, target, tuning);
    return choose(spec, target, resolved_by(ask_wisdom(*wisdom_problem(spec, target, tuning), device), tuning));
}

Choice choose_by_wisdom(const Spec& spec, const Device& device, const Tuning& tuning) {
    return choose_by_wisdom(spec, device.target(), tuning, wisdom_device(device));
}

}  // namespace trifold
