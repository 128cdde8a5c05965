#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "tools/formats/matrix_market.hpp"

namespace trifold::formats {

/// How a symmetric matrix is cut: blocks in a row or in a ring, and behind them a border of the last rows, which may couple to all.
struct Shape {
    std::int64_t block = 0;
    std::int64_t bandwidth =
        1;  ///< above 1: A is a band, of blocks of block / bandwidth rows, each of which is coupled to as many next ones
    bool ring = false;
    std::int64_t border = 0;  ///< rows
    double flops = 0;         ///< of a factorization
};
/// "blocks of 64 in a row (a band of 2 blocks of 32) and a border of 3".
std::string to_string(const Shape& shape);

/// What a caller states of the shape. `block` is that of a band where `bandwidth` is above 1. Where a block is stated and no border, there
/// is none.
struct Stated {
    std::optional<std::int64_t> block{}, bandwidth{}, border{};
    bool ring = false;     ///< of arrays of a band, which look the same where it is none
    bool general = false;  ///< A need not be symmetric, and has no border
};

/// The shape of the fewest flops that holds every entry that is not zero; of a stated block, that shape, whether it holds them or not.
/// Throws InputError.
Shape infer_shape(const SparseMatrix& a, const Stated& stated = {});

}  // namespace trifold::formats
