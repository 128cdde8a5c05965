#pragma once
#include <vector>

#include "tools/formats/matrix_market.hpp"

namespace trifold::formats {

/// A square matrix by rows of dense blocks; what a block lacks is zero.
struct BlockRows {
    std::int64_t block = 1;
    std::vector<std::int64_t> starts{0}, columns;
    std::vector<double> values;  ///< [entries][block][block]
    std::int64_t rows() const { return static_cast<std::int64_t>(starts.size()) - 1; }
};

/// The largest block of at most `most` rows with which a square matrix has rows of blocks, three quarters of whose entries it has.
std::int64_t infer_dense_block(const SparseMatrix& matrix, std::int64_t most);
/// Throws InputError where the matrix is not square, or its rows are no multiple of the block. Entries of one place are added up. A row
/// that is not empty gets its block on the diagonal, if only as a zero, for factors stand there.
BlockRows to_block_rows(const SparseMatrix& matrix, std::int64_t block);
/// Without the zeros that fill blocks.
SparseMatrix to_sparse(const BlockRows& rows);
/// |b - A x| / |b|; |b - A x| where b is zero. NaN where x is NaN.
double relative_residual(const BlockRows& a, const std::vector<double>& x, const std::vector<double>& b, std::int64_t columns,
                         std::int64_t column);

}  // namespace trifold::formats
