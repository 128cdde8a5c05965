#pragma once
#include "generator/sparse/layout.hpp"
#include "templates/gpu/sparse/shared.h"

namespace trifold::sparse::gpu {

/// The thread block of a subdomain.
struct Sweep {
    std::int64_t sweepers;      ///< threads that sweep through the subdomain, for as many rows as its widest level has
    std::int64_t fetchers = 0;  ///< further threads, which send factors through a ring
    std::int64_t blocks = 1;    ///< that share a multiprocessor
    std::int64_t kept = 1;      ///< slots of a row that a lane takes into registers a level early
    bool keeps_all = false;     ///< these are all slots of every row
    std::int64_t ring = 0;      ///< bytes of the ring of shared memory; 0: there is no room, or no copy engine
    bool one_launch = false;    ///< a solution takes one, where its factors fit
    std::int64_t groups = 1;    ///< groups of sweepers, which take alternate levels in such a launch
    std::int64_t threads() const { return sweepers + fetchers; }
};
/// Shared memory in which a thread block adds up numbers of its threads.
constexpr std::int64_t sum_bytes(std::int64_t threads) {
    return (threads + trifold_sparse_sums) * static_cast<std::int64_t>(sizeof(double));
}
Sweep sweep_of(const SparseSpec& spec, const Target& target, const Arrangement& arrangement, const Knobs& knobs);
/// Sizes that a thread block keeps in shared memory for a whole solution: bytes of factors and of levels' records, levels, and blocks of a
/// row of A, at most.
struct Kept {
    std::int64_t factors = 0, records = 0, levels = 0, slots = 0;
};
Stored stored_of(const SparseSpec& spec, const Arrangement& arrangement, const Sweep& sweep, Kept& kept);
/// The shared memory of solutions in one launch, where that is wanted and there is room.
trifold_sparse_launch near_of(const SparseSpec& spec, const Target& target, const Arrangement& arrangement, const Sweep& sweep,
                              const Kept& kept);

}  // namespace trifold::sparse::gpu
