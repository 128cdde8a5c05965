#pragma once
#include "generator/sparse/layout.hpp"

/// Sparse systems on CPUs. A task has a subdomain, or as many rows as others have.
namespace trifold::sparse::cpu {

/// L, then D and U of each subdomain, row after row.
Stored stored_of(const SparseSpec& spec, const Arrangement& arrangement);
Unit unit_of(const SparseSpec& spec, const Target& target, const Arrangement& arrangement);
/// Rows of a task where they do not depend on one another.
std::int64_t slice_rows(const SparseSpec& spec, const Target& target, std::int64_t rows, const Knobs& knobs);
/// Bytes of a worker.
std::int64_t scratch_bytes(const SparseSpec& spec, const Arrangement& arrangement, std::int64_t slice_rows);

}  // namespace trifold::sparse::cpu
