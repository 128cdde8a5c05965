#pragma once
#include <string>
#include <trifold/generate.hpp>

#include "generator/tridiagonal/design.hpp"

namespace trifold::test {

/// What `generate` works out before it writes anything.
inline Design design_of(const Spec& spec, const Target& target, const Tuning& tuning = {}) { return design(choose(spec, target, tuning)); }

/// The text of all its kernels.
inline std::string source_of(const Design& design) { return write_down(design, Packing::together).units.front().source; }

}  // namespace trifold::test
