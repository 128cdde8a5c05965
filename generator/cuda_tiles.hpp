#pragma once
#include <string>
#include <trifold/schedule.hpp>
#include <trifold/spec.hpp>
#include <trifold/target.hpp>

/// Variant "tile-dataflow": blocks of several square tiles of a given edge, all levels in one launch, a task a tile.
namespace trifold::cuda::tiles {

inline constexpr std::int64_t sweep_threads = 256;

/// A warp for every 16 rows of a tile.
std::int64_t factor_threads(const Target& target, std::int64_t edge);
/// Counts of finished tiles that a block has: one for each row of its panels, and one for each sweep.
std::int64_t counts(const Spec& spec, std::int64_t edge);
/// Thread blocks of a launch that share its tasks.
std::int64_t factor_groups(const Schedule& schedule, const Spec& spec, std::int64_t edge);
std::int64_t sweep_groups(const Schedule& schedule, const Spec& spec, std::int64_t edge);
/// TileShared in templates/device/tile_stages.cuh and SweepShared in tile_sweep.cuh.
std::int64_t factor_shared(const Schedule& schedule, const Spec& spec, const Target& target, std::int64_t edge);
std::int64_t sweep_shared(const Schedule& schedule, const Spec& spec, std::int64_t edge, std::int64_t columns);
/// As #define lines, and a table of the levels.
std::string constants(const Schedule& schedule, const Spec& spec, const Target& target, std::int64_t edge);

}  // namespace trifold::cuda::tiles
