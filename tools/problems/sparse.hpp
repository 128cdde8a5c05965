#pragma once
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tools/formats/block_rows.hpp"

namespace trifold::problems {

/// A x = b, where A has rows of dense blocks.
struct SparseProblem {
    formats::BlockRows a;
    std::int64_t rhs = 1;
    std::vector<double> b;  ///< [rows][block][rhs]
};

/// A box of cells, or of points.
struct Cells {
    std::int64_t width, height, depth = 1;
    std::int64_t count() const { return width * height * depth; }
};

/// Names of problems on sparse matrices.
inline constexpr std::array<std::string_view, 5> sparse_names{"sparse-laplacian", "sparse-convection", "sparse-rock", "sparse-reaction",
                                                              "sparse-elasticity"};

/// A test problem, b uniform in (-1, 1).
///   sparse-laplacian   seven points, in blocks of `block`: 6 I and -I, with random coupling of a twentieth of that
///   sparse-convection  diffusion and a flow on a triangulation of width by height points, which are moved about; linear elements
///   sparse-rock        pressure in layers of rock, seven points: the logarithm of their permeability is smooth and random, that between
///                      layers a tenth; a well in the first column of cells holds the pressure
///   sparse-reaction    three temperatures that diffuse at rates of 1, 0.1 and 10, and exchange heat in each cell
///   sparse-elasticity  blocks of three displacements at the corners of cells whose stiffness is random; trilinear elements, held at x = 0
/// `block` counts in sparse-laplacian alone. Throws SpecError on another name, or too few cells.
SparseProblem make_sparse(std::string_view name, const Cells& cells, std::int64_t block, std::int64_t rhs, std::uint64_t seed);

}  // namespace trifold::problems
