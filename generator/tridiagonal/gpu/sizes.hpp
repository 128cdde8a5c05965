#pragma once
#include <cstdint>

#include "generator/tridiagonal/variant.hpp"

/// Sizes, limits and constants that the variants of GPUs share.
namespace trifold::gpu {

constexpr std::int64_t kib = 1024;

/// Sizes that every variant's kernels have. Bytes are of a thread block's shared memory.
struct Sizes {
    std::int64_t real = 8;    ///< bytes of an element
    std::int64_t padded = 0;  ///< rows and columns of a block as kernels keep it
    std::int64_t tile = 0;    ///< rows of the factor's diagonal tiles, which are kept inverted
    std::int64_t threads = 0, sweep_threads = 0;
    std::int64_t columns = 1;  ///< right-hand sides that a sweep treats at once
    std::int64_t factor_shared = 0, sweep_shared = 0;
};

/// Elements from one column to the next in shared memory: 4 modulo 8, so that rows and columns meet no bank conflicts.
constexpr std::int64_t conflict_free(std::int64_t rows) { return round_up(rows - 4, 8) + 4; }

/// Dynamic shared memory that one thread block can have.
std::int64_t shared_limit(const Target& target);
bool fits(const Sizes& sizes, const Target& target);
/// Message for a problem that does not fit.
std::string too_large(std::string_view variant, const Sizes& sizes, const Problem& problem);

/// Thread blocks that a multiprocessor can hold if each of their threads has `registers` registers.
std::int64_t blocks_for(const Target& target, std::int64_t threads, std::int64_t registers);
std::int64_t multiprocessors(const Target& target);

/// Members that a thread block treats where `together` are treated side by side.
std::int64_t members_per_group(const Spec& spec, std::int64_t together = 1);

/// Threads of the kernels that finish, which all variants share.
std::int64_t finish_threads(const Spec& spec);

/// usual_phases, and the kernels of the selected inverse that the block size asks for.
std::map<Operation, std::vector<Phase>> phases_of(const Problem& problem, const Sizes& sizes, const Abilities& abilities,
                                                  bool rides = true);

/// quantities_of, padded, columns and shared_bytes (the limit).
Quantities quantities_of(const Problem& problem, const Sizes& sizes);

/// The common part of all variants: shapes with a launch a level, storage and scratch. The variant adds its phases.
Lowered lower_common(const Problem& problem, const Sizes& sizes, std::int64_t members);
/// Storage of a general matrix, whose panels and couplings are pairs, and the sweeps with A'.
void lower_general(Lowered& lowered, const Sizes& sizes);

struct Facts {
    bool in_tiles = false;       ///< blocks of the workspace stand tile by tile
    bool tensor = false;         ///< products by tensor instructions
    bool overlaps = false;       ///< launches begin while the one before them is at work
    std::int64_t log_parts = 1;  ///< sums of logarithms of a block's pivots
    std::int64_t members_together = 1;
    bool orders = true;  ///< members of unequal length are taken longest first
};
/// Constants of the templates that all variants paste.
std::vector<Constant> common_constants(const Design& design, const Sizes& sizes, const Facts& facts);
Constant constant(std::string name, std::int64_t value);

}  // namespace trifold::gpu
