#include <fmt/format.h>

#include <trifold/program.hpp>

#include "generator/program/templates.hpp"

namespace trifold {

Unit repeat_unit(const Target& target) {
    Unit unit{target, fmt::format("repeat_{}", target.arch), {{"trifold_repeat", 1, 0}}, {"-arch=" + target.arch, "-std=c++17"}, {}};
    const auto text = paste({"gpu/repeat.cuh"}, Platform::cuda);
    unit.source = fmt::format("#define TRIFOLD_ARCH {}\n{}", compute_capability(target), text);
    return unit;
}

}  // namespace trifold
