#pragma once
#include <string_view>

#include "generator/tridiagonal/wisdom.hpp"
#include "runtime/wisdom/wisdom.hpp"

namespace trifold {

/// Chooses by the user's wisdom and what is built in, else as choose(spec, target, tuning) does. An empty device is one that is not known.
/// Reports once in the log what is wrong with wisdom; that is never an error. Throws SpecError as choose does.
inline Choice choose_by_wisdom(const Spec& spec, const Target& target, const Tuning& tuning, std::string_view device) {
    if (!is_open(tuning)) return choose(spec, target, tuning);
    return choose(spec, target, resolved_by(ask_wisdom(*wisdom_problem(spec, target, tuning), device), tuning));
}
/// On a device of this machine.
inline Choice choose_by_wisdom(const Spec& spec, const Device& device, const Tuning& tuning) {
    return choose_by_wisdom(spec, device.target(), tuning, wisdom_device(device));
}

}  // namespace trifold
