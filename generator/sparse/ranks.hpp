#pragma once
#include "generator/sparse/generate.hpp"

/// An iteration that several ranks share. Every rank has the whole pattern, and computes the subdomains and slices that are its own.
namespace trifold::sparse {

/// The Program of one rank, made of the one of a single device for `update` and `solve`. Each number is computed as there, so X, the
/// iterations and all bits are the same whatever the number of ranks. Throws SpecError where there are fewer subdomains than ranks, a
/// batch, or GMRES.
Generated on_rank(Generated whole, const SparseSpec& spec, const Arrangement& arrangement, int rank, int ranks);

namespace gpu {

/// The unit of the kernels that put rows of vectors side by side for a message, and back. A thread has a word of 32 bits.
enum class MessageKernel { pack, unpack };
inline constexpr std::int64_t message_threads = 256;
std::int64_t row_words(const SparseSpec& spec);
Unit message_unit(const SparseSpec& spec, const Target& target);

}  // namespace gpu

}  // namespace trifold::sparse
