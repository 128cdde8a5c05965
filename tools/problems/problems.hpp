#pragma once
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tools/formats/assemble.hpp"
#include "tools/formats/grid.hpp"

namespace trifold::problems {

/// Sizes of a test problem. Member k of a batch is the single problem with seed + k.
struct Sizes {
    std::int64_t block, horizon, rhs = 1, batch = 1;
};

/// Throws SpecError on another name, or sizes that the problem does not have.
///   socu      L_ii = tril(uniform) + 10 I, L_{i+1,i} uniform, A = L L', b uniform
///   blockdss  D_i = R R' + n I and upper couplings with R and the couplings normal; x uniform, b = A x. Rarely positive definite for n < 8
///   dominant  D_i symmetric with entries uniform in (-1, 1) and diagonals above the sum of the others in their rows, E and b uniform in
///             (-1, 1): made in the time that writing it takes, for benchmarks
///   kalman    normal equations of a Kalman smoother: damped plane rotations G (0.98), 4 n observations a step through
///             H = normal / sqrt(n), Q = 0.04 U diag(0.5 .. 1.5) U' with U random orthogonal, R = I, the observations of a simulated
///             path. n must be even
formats::System make(std::string_view name, const Sizes& sizes, std::uint64_t seed);

/// Shapes for a problem, by numbers uniform in (-1, 1) and diagonals that make room for them. A band has new couplings in place of those
/// that there are, (N, w, n, n): its System then is in the caller's blocks. A border comes last.
void close_ring(formats::System& system, std::uint64_t seed);
void add_band(formats::System& system, std::int64_t bandwidth, bool ring, std::uint64_t seed);
void add_border(formats::System& system, std::int64_t border, std::uint64_t seed);
/// Makes a positive definite System one of another kind. `symmetric`: the later half of each block's rows and columns change signs where
/// they meet, so that A is quasi-definite. `general`: a skew-symmetric matrix of numbers uniform in (-1, 1) is added, so that A has a
/// positive definite symmetric part.
void take_kind(formats::System& system, MatrixKind kind, std::uint64_t seed);
/// Lengths or sizes, uniform in 1 to `most`.
std::vector<int> counts(std::int64_t count, std::int64_t most, std::uint64_t seed);
/// Puts the identity beyond the lengths of members and the sizes of blocks, and zeros into b and a border. Where there are none, all are
/// whole.
void shorten(formats::System& system, const std::vector<int>& lengths, const std::vector<int>& sizes);

inline formats::System socu(const Sizes& sizes, std::uint64_t seed) { return make("socu", sizes, seed); }
inline formats::System blockdss(const Sizes& sizes, std::uint64_t seed) { return make("blockdss", sizes, seed); }
inline formats::System dominant(const Sizes& sizes, std::uint64_t seed) { return make("dominant", sizes, seed); }
inline formats::System kalman(const Sizes& sizes, std::uint64_t seed) { return make("kalman", sizes, seed); }

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
