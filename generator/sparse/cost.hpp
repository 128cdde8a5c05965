#pragma once
#include "generator/sparse/arrangement.hpp"

namespace trifold::sparse {

/// Bytes that an operation moves between memory and processor, and how long that takes at the device's rate: no kernel can be faster.
struct Cost {
    std::string operation;
    std::int64_t bytes;
    double seconds;
};
/// Costs of update, apply, multiply and an iteration, for one member and right-hand side.
std::vector<Cost> costs_of(const SparseSpec& spec, const Target& target, const Arrangement& arrangement);

}  // namespace trifold::sparse
