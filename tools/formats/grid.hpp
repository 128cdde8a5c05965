#pragma once
#include <functional>
#include <optional>
#include <string>
#include <trifold/grid_spec.hpp>
#include <vector>

#include "tools/formats/matrix_market.hpp"
#include "tools/formats/npy.hpp"

namespace trifold::formats {

/// A x = b on images, in GridSpec's layouts, in double whatever the precision it is solved in.
struct GridSystem {
    std::int64_t width = 0, height = 0, rhs = 1, batch = 1;
    std::vector<double> stencil;  ///< [batch][height][width][9]
    std::vector<double> b;        ///< [batch][height][width][rhs]

    std::vector<std::string> notes;  ///< as of a System
};

/// The width of images on which all entries of A that are not zero couple neighbours; nothing where there is none.
std::optional<std::int64_t> infer_width(const SparseMatrix& a);

/// Stencils of a sparse A, whose row y * width + x is that of pixel (x, y). Throws InputError: sizes that do not match, or the first entry
/// in the file that is not zero and couples pixels which are no neighbours, or that is there twice.
GridSystem assemble(const SparseMatrix& a, const DenseMatrix& b, std::int64_t width, std::int64_t height);

/// A (H,W,9), b (H,W) or (H,W,m); or with a leading batch. Throws InputError.
GridSystem assemble_grid(const Array& a, const Array& b);

/// Throws InputError naming the first value that is not finite, or not representable in the precision. Of stencils the entries that the
/// Spec does not read do not count.
void check_finite(const GridSystem& system, const GridSpec& spec);

/// Calls visit(pixel, neighbour, value) for each entry that an image's matrix can have, row by row. The Spec says which are read.
void for_each_entry(const GridSystem& system, const GridSpec& spec, std::int64_t image,
                    const std::function<void(std::int64_t, std::int64_t, double)>& visit);

/// Image 0 as a matrix, without zeros.
SparseMatrix to_sparse(const GridSystem& system);

}  // namespace trifold::formats
