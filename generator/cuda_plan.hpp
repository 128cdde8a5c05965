#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "generator/backend.hpp"

namespace trifold::cuda {

constexpr std::int64_t kib = 1024;

/// Dynamic shared memory one thread block can have.
std::int64_t shared_limit(const Target& target);

/// Variant dataflow: thread blocks on a multiprocessor, as many as shared memory holds while a thread keeps its registers, counted
/// by the four parts of a multiprocessor, each with 16384 registers.
std::int64_t fronts_together(std::int64_t threads, std::int64_t shared, std::int64_t registers = 168);

/// Everything a unit's constants follow from.
struct Plan {
    std::string variant = "fused";
    std::int64_t real = 8, padded = 0, tile = 0, threads = 0, sweep_threads = 0, inverse_threads = 0, finish_threads = 0;
    std::int64_t leading = 0, columns = 0;  ///< of the panel in shared memory; right-hand sides a sweep treats at once
    std::int64_t row_vectors = 1;           ///< tiled: 16-byte vectors of rows a thread has
    std::int64_t parts = 1;                 ///< the columns of a panel are cut in, so that all threads load
    bool stage_factor = false;              ///< sweeps copy the factor to shared memory
    std::int64_t riders = 0, lower_leading = 0, stacked_leading = 0;  ///< right-hand sides in the panel (dataflow, team); dataflow's arrays
    std::int64_t message_level = 0, message_fronts = 0;               ///< dataflow: fronts that send messages, from this level on
    bool front_room = true;                                           ///< dataflow: for the blocks that a front pulls
    bool is_long = false;                                             ///< dataflow: more fronts than a device has room for
    bool is_crowded = false;                                          ///< ... in the launch that factors all but the wide levels
    bool rides = true;                                                ///< dataflow: a forward sweep with the factorization
    std::int64_t wide_levels = 0, wide_shared = 0;  ///< dataflow: first levels, by a launch of their own; bytes a front shares
    bool in_registers = false;                      ///< dataflow: [R; G], by tensor instructions of double precision
    std::int64_t team = 1, panels = 3;              ///< team: lanes that have a chain; panels of a front: L, R and, with fill, G
    std::int64_t members_together = 1;              ///< team: whose chains a thread block has side by side
    std::int64_t factor_shared = 0, sweep_shared = 0, inverse_shared = 0, finish_shared = 0;
};

/// The plan of a named variant, or of the one that `auto` takes. Throws SpecError where the variant cannot be.
Plan make_plan(const Spec& spec, const Target& target, const Schedule& schedule, std::string_view variant);

}  // namespace trifold::cuda
