#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <trifold/ranks.hpp>
#include <trifold/schedule.hpp>
#include <vector>

namespace trifold::ranks {

/// The first block of rank s, 1 <= s < ranks, is separator s. An interval is what lies between two separators that remain: it leaves an
/// update to each of them and their coupling. Intervals of one rank's blocks are joined two by two, as separators are eliminated in the
/// order of cyclic reduction: separator s at turn ctz(s).
///
/// `none` is the end of the chain.
inline constexpr int none = -1;

struct Interval {
    int left, right;  ///< its separators
    int source;       ///< the rank that makes it
    bool is_joint;    ///< by eliminating its separator; else of its own blocks
    int parent;       ///< the rank whose separator is the first of the two to be eliminated; none: it is the whole chain
};

int turn_of(int separator);
/// The separators on both sides of s when it is eliminated, and what becomes of it.
Interval joint_interval(int separator, int ranks);
/// The interval of a rank's own blocks.
Interval own_interval(int rank, int ranks);
/// The two that separator s joins.
Interval left_child(int separator, int ranks);
Interval right_child(int separator, int ranks);

/// The levels by which a rank eliminates its own blocks but its separator, block 0; the neighbour's separator is behind its last block.
/// A last level without chains has the separators that are left.
Schedule own_schedule(const RankSpec& spec, std::string_view name);
/// A path of three blocks, of which the middle one is eliminated: the separator, and its neighbours where it has them.
Schedule joint_schedule(const Interval& interval);

/// Modelled seconds of the rank that takes longest for its own blocks, by the schedule of that name.
double own_seconds(const RankSpec& spec, const Choice& agreed, std::string_view schedule);

/// The schedule of own blocks with the least modelled time.
std::string fastest_schedule(const RankSpec& spec, const Choice& agreed);

}  // namespace trifold::ranks
