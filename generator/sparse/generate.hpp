#pragma once
#include <trifold/sparse_spec.hpp>

#include "generator/sparse/arrangement.hpp"
#include "generator/sparse/layout.hpp"

namespace trifold::sparse {

/// A Program, and what its buffers must hold before the first call.
struct Generated {
    Program program;
    std::vector<Content> contents;
};

/// The whole generator. Pure: same input, same bytes. `asked`, where it is not null, gets the knobs that were asked for. Throws SpecError.
Generated generate(const SparseSpec& spec, const Target& target, const SparseTuning& tuning, const SparsePattern& pattern,
                   const Arrangement& arrangement, std::vector<trifold::KnobDecision>* asked = nullptr);

/// Bytes that an operation moves between memory and processor, and how long that takes at the device's rate: no kernel can be faster.
struct Cost {
    std::string operation;
    std::int64_t bytes;
    double seconds;
};
/// Costs of update, apply, multiply and an iteration, for one member and right-hand side.
std::vector<Cost> costs_of(const SparseSpec& spec, const Target& target, const Arrangement& arrangement);

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
