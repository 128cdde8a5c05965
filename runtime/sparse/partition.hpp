#pragma once
#include "generator/sparse/arrangement.hpp"

namespace trifold::sparse {

/// The subdomains of a pattern. `usual` is about how many rows one has, `most_parts` how many there are at most, if the caller leaves that
/// open. Throws SpecError.
Parts parts_of(const SparsePattern& pattern, const SparsePartition& partition, SparsePreconditioner preconditioner, std::int64_t usual,
               std::int64_t most_parts = 0);

}  // namespace trifold::sparse
