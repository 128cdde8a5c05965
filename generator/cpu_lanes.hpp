#pragma once
#include <string>
#include <trifold/program.hpp>
#include <vector>

/// CPU variant "lanes": one member in each lane of a vector, so that every operation of the scalar algorithm is a vector
/// operation. For batches of small blocks.
namespace trifold::cpu {

/// Beyond this block size the tile variant wins and the scratch leaves the caches.
inline constexpr std::int64_t max_lanes_block = 32;

/// Whether `auto` takes it: the batch fills a vector, and blocks are small enough that a single system does not.
bool lanes_pay(const Spec& spec, const Target& target);
/// Throws SpecError when the block is too large.
Variant lanes_variant(const Spec& spec, const Target& target);
/// As #define lines.
std::string lanes_constants(const Program& program);

}  // namespace trifold::cpu
