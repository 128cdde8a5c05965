#pragma once
#include <trifold/grid_args.h>

#include <string>
#include <string_view>
#include <trifold/grid_spec.hpp>
#include <vector>

/// Functions by which all backends write units and launches.
namespace trifold::grid {

/// The kind in kernels' names: symmetric, general, unpivoted.
std::string_view kind_of(const GridSpec& spec);
/// Comment at the start of a unit, which says what the unit is for.
std::string title_of(const GridSpec& spec, const Target& target);
/// The lines that tell a unit the name of one of its kernels; on a GPU also how many of its thread blocks a multiprocessor must have
/// registers for.
std::string define_kernel(std::string_view kernel, std::string_view name, std::int64_t blocks = 0);
/// A launch of `groups` tasks or thread blocks for each image, after all that the list has.
void append(std::vector<Launch>& list, std::size_t kernel, const trifold_grid_launch& constants, std::int64_t groups, std::string what);
/// All of the second after all of the first.
std::vector<Launch> join(std::vector<Launch> first, const std::vector<Launch>& second);

}  // namespace trifold::grid
