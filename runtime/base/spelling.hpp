#pragma once
#include <cstddef>
#include <string_view>

namespace trifold {

/// Letters to put in, leave out, change or swap with their neighbour to get from one word to the other.
std::size_t spelling_distance(std::string_view left, std::string_view right);

}  // namespace trifold
