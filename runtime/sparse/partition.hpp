#pragma once
#include "generator/sparse/arrangement.hpp"

namespace trifold::sparse {

/// The subdomains of a pattern. If the caller leaves that open, of about `usual` rows, or at most `most_parts` of them. Throws SpecError.
Parts parts_of(const SparsePattern& pattern, const SparsePartition& partition, SparsePreconditioner preconditioner, std::int64_t usual,
               std::int64_t most_parts = 0);

}  // namespace trifold::sparse
