#pragma once
#include <string_view>

#include "generator/grid/wisdom.hpp"
#include "runtime/wisdom/wisdom.hpp"

namespace trifold {

/// Chooses by the user's wisdom and what is built in, else as choose(spec, target, tuning) does. An empty device is one that is not known.
/// Reports once in the log what is wrong with wisdom; that is never an error. Throws SpecError as choose does.
inline GridChoice choose_by_wisdom(const GridSpec& spec, const Target& target, const GridTuning& tuning, std::string_view device) {
    if (tuning.variant != "auto") return choose(spec, target, tuning);
    return choose_with(ask_wisdom(*wisdom_problem(spec, target, tuning), device), spec, target, tuning);
}
/// On a device of this machine.
inline GridChoice choose_by_wisdom(const GridSpec& spec, const Device& device, const GridTuning& tuning) {
    return choose_by_wisdom(spec, device.target(), tuning, wisdom_device(device));
}

}  // namespace trifold
