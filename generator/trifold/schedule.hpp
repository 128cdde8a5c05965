#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace [[gnu::visibility("default")]] trifold {

/// Keeps every count of a Schedule and its cost within 63 bits.
inline constexpr std::int64_t max_horizon = std::int64_t{1} << 56;

/// Chains of equal length. Positions count the blocks that remain when the level starts; chain c eliminates
/// first + c * stride + k * step for k = 0 .. length - 1, in that order. `step` is +1 or -1.
struct Run {
    std::int64_t first, stride, count, length, step;
    bool operator==(const Run&) const = default;
};

/// Chains that do not depend on one another. Block of position p: base + scale * p, 0 <= p < size.
/// Positions that no run eliminates are the separators: the blocks of the next level.
struct Level {
    std::int64_t base, scale, size;
    std::vector<Run> runs;  ///< one to three
    bool ring = false;      ///< the last block is coupled to the first one, which stays to the end: position `size` is position 0 again
    bool operator==(const Level&) const = default;
    std::int64_t chains() const;
    std::int64_t fronts() const;
    std::int64_t longest() const;  ///< fronts of its longest chain
    std::int64_t block(std::int64_t position) const { return base + scale * (ring && position == size ? 0 : position); }
    bool exists(std::int64_t position) const { return position >= 0 && (position < size || (ring && size > 1)); }
    std::int64_t couplings() const { return ring ? size : size - 1; }  ///< of blocks next to each other
};

/// One elimination: pivot block and its live neighbours in the order the chain runs, -1 where there is none.
struct Front {
    std::int64_t pivot;
    std::int64_t next;    ///< the chain's next pivot, or the separator ahead of it
    std::int64_t behind;  ///< the separator behind the chain, whose fill every front of the chain carries
};

/// Levels that eliminate every block of a path of `horizon` blocks, or of a ring, exactly once.
struct Schedule {
    std::string name;  ///< canonical, such as "twisted:2"
    std::int64_t horizon = 0;
    std::vector<Level> levels;
    bool operator==(const Schedule&) const = default;
    std::int64_t couplings() const;  ///< at all levels but the first, whose couplings are E
};

Schedule sequential(std::int64_t horizon, bool ring = false);
/// At each level, segments of the given length between separators of what remains; then one chain of the rest.
/// {1} is socu Alg. 3 (single stage).
Schedule segments(std::int64_t horizon, const std::vector<std::int64_t>& lengths, bool ring = false);
/// Segments of length 1 until one block remains (socu Alg. 4 and 6; cyclic reduction).
Schedule multi_stage(std::int64_t horizon, bool ring = false);
/// Segments of `length` until at most `rest` blocks remain (BlockDSS Alg. 4), with no separator at the end of the path.
Schedule recursive(std::int64_t horizon, std::int64_t length, std::int64_t rest, bool ring = false);
/// `chains` chains, the first longer because it carries no fill (socu Alg. 2 and Prop. 1), then one of separators.
/// Fewer chains are made where the horizon is below 2 chains - 1. In a ring all of them carry fill.
Schedule partitioned(std::int64_t horizon, std::int64_t chains, bool ring = false);
/// Chains as of `partitioned`, with the last one running backwards, so that neither end chain carries fill.
Schedule twisted(std::int64_t horizon, std::int64_t chains);

/// Segments of length 1 (socu Alg. 4 and 6), at level k between two end chains of up to ends[k] blocks, which carry no fill and so save
/// flops; without them at the levels after the last of these.
Schedule flanked(std::int64_t horizon, const std::vector<std::int64_t>& ends);

/// The list of names for messages and help.
inline constexpr const char* schedule_names =
    "auto, sequential, single-stage, multi-stage, partitioned:p, twisted:p, flanked:a,b,c, recursive:J[:Nstar] or segments:a,b,c";

/// Parses sequential | single-stage | multi-stage | partitioned:p | twisted:p | flanked:a,b,c | recursive:J[:Nstar] | segments:a,b,c.
/// `auto` is not a schedule: see choose_schedule. Those with end chains are for no ring. Throws SpecError.
Schedule parse_schedule(std::string_view text, std::int64_t horizon, bool ring = false);

/// Whether a chain anywhere has a separator behind it, to which all its fronts are coupled.
bool has_fill(const Schedule& schedule);

/// The fronts of one chain, in the order it eliminates them.
std::vector<Front> chain_fronts(const Level& level, const Run& run, std::int64_t chain);

}  // namespace trifold
