#pragma once
#include "generator/sparse/layout.hpp"
#include "templates/gpu/sparse/shared.h"

/// Sparse systems on GPUs. A thread block has a subdomain, with its vector in shared memory, or some chunks of rows.
namespace trifold::sparse::gpu {

/// Throws SpecError where a subdomain does not fit the device's shared memory, with the size that does.
void check(const SparseSpec& spec, const Target& target, const Arrangement& arrangement);
/// The most rows of a subdomain.
std::int64_t most_rows(const SparseSpec& spec, const Target& target);
/// Rows of a thread block where they do not depend on one another.
std::int64_t slice_rows();
/// Bytes of the ring of shared memory through which factors go; 0: there is no room, or no copy engine.
std::int64_t ring_bytes(const SparseSpec& spec, const Target& target, const Arrangement& arrangement);
/// Shared memory of rows that a thread block factors at once: how many, and numbers of each. An odd number, so that equal places of
/// neighbouring rows lie in different banks.
struct FactorRoom {
    std::int64_t rows, numbers;
};
FactorRoom factor_room(const SparseSpec& spec, const Target& target, const Arrangement& arrangement);
/// A in chunks of rows. L, then D and U of each subdomain, level by level.
Stored stored_of(const SparseSpec& spec, const Arrangement& arrangement, std::int64_t ring);
Unit unit_of(const SparseSpec& spec, const Target& target, const Arrangement& arrangement, std::int64_t ring);

}  // namespace trifold::sparse::gpu
