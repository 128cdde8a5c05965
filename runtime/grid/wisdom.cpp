#include "runtime/grid/wisdom.hpp"

namespace trifold {

GridChoice choose_by_wisdom(const GridSpec& spec, const Target& target, const GridTuning& tuning, std::string_view device) {
    if (tuning.variant != "auto") return choose(spec, target, tuning);
    return choose_with(ask_wisdom(*wisdom_problem(spec, target, tuning), device), spec, target, tuning);
}

GridChoice choose_by_wisdom(const GridSpec& spec, const Device& device, const GridTuning& tuning) {
    return choose_by_wisdom(spec, device.target(), tuning, wisdom_device(device));
}

}  // namespace trifold
