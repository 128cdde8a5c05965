#pragma once
#include "generator/sparse/arrangement.hpp"

namespace trifold::sparse {

/// The subdomains of a pattern, of about so many rows where the caller leaves that open. Throws SpecError.
Parts parts_of(const SparsePattern& pattern, const SparsePartition& partition, SparsePreconditioner preconditioner, std::int64_t usual);

}  // namespace trifold::sparse
