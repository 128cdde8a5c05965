#pragma once
#include "generator/sparse/generate.hpp"

/// An iteration that several ranks share. Every rank has the whole pattern, and computes the subdomains and slices that are its own.
namespace trifold::sparse {

/// The Program of one rank, made of the one of a single device for `update` and `solve`, on a processor. Each number is computed as there,
/// so X, the iterations and all bits are the same whatever the number of ranks. Throws SpecError where there are fewer subdomains than
/// ranks, a batch, or GMRES.
Program on_rank(Program whole, const SparseSpec& spec, const Arrangement& arrangement, int rank, int ranks);

}  // namespace trifold::sparse
