#pragma once
#include <string>

#include "generator/schedule.hpp"
#include "generator/spec.hpp"

/// CUDA variant "tile-dataflow": blocks of several tiles of 64 by 64, all levels in one launch, a task a tile.
namespace trifold::cuda::tiles {

inline constexpr std::int64_t edge = 64;
inline constexpr std::int64_t factor_threads = 128, sweep_threads = 256;

/// Tiles along a block's edge.
std::int64_t per_edge(const Spec& spec);
/// Counts of finished tiles that a block has: one for each row of its panels, and one for each sweep.
std::int64_t counts(const Spec& spec);
/// Thread blocks of a launch that share its tasks.
std::int64_t factor_groups(const Schedule& schedule, const Spec& spec);
std::int64_t sweep_groups(const Schedule& schedule, const Spec& spec);
/// TileShared in templates/device/tile_factor.cuh and SweepShared in tile_sweep.cuh.
std::int64_t factor_shared(const Schedule& schedule, const Spec& spec);
std::int64_t sweep_shared(const Schedule& schedule, const Spec& spec, std::int64_t columns);
/// As #define lines, and a table of the levels.
std::string constants(const Schedule& schedule, const Spec& spec);

}  // namespace trifold::cuda::tiles
