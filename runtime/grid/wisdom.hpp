#pragma once
#include <string_view>

#include "generator/grid/wisdom.hpp"
#include "runtime/wisdom/wisdom.hpp"

namespace trifold {

/// Chooses by the user's wisdom and what is built in, else as choose(spec, target, tuning) does. An empty device is one that is not known.
/// What is wrong with wisdom is reported once in the log and never an error. Throws SpecError as choose does.
GridChoice choose_by_wisdom(const GridSpec& spec, const Target& target, const GridTuning& tuning, std::string_view device);
/// On a device of this machine.
GridChoice choose_by_wisdom(const GridSpec& spec, const Device& device, const GridTuning& tuning);

}  // namespace trifold
