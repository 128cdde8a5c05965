#pragma once
#include <array>
#include <cstdint>
#include <string_view>

#include "tools/formats/grid.hpp"

namespace trifold::problems {

/// Names of problems on images.
inline constexpr std::array<std::string_view, 6> grid_names{"grid-poisson",   "grid-anisotropic", "grid-convection",
                                                            "grid-helmholtz", "grid-jumps",       "grid-random"};

/// A test problem on images, b uniform in (-1, 1). Image k of a batch has seed + k.
///   grid-poisson      four neighbours, 0.01 added to the diagonal
///   grid-anisotropic  eight neighbours of weights exp(3 u), u uniform in (-1, 1)
///   grid-convection   grid-poisson, with a flow along x
///   grid-helmholtz    four neighbours less the waves of ten pixels: indefinite
///   grid-jumps        weights 1 or 1e6, 1 added to the diagonal
///   grid-random       nine entries uniform in (-1, 1), the diagonal a hundredth above the sum of the others
/// Throws SpecError on another name, or an image without pixels.
formats::GridSystem make_grid(std::string_view name, std::int64_t width, std::int64_t height, std::int64_t rhs, std::int64_t batch,
                              std::uint64_t seed);

}  // namespace trifold::problems
