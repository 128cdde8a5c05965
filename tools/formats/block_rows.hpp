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
/// Calls visit(row, column, value) for each entry, row by row.
template <class Visit>
void for_each_entry(const BlockRows& a, const Visit& visit) {
    const auto n = a.block;
    for (std::int64_t row = 0; row < a.rows() * n; ++row)
        for (auto k = a.starts[static_cast<std::size_t>(row / n)]; k < a.starts[static_cast<std::size_t>(row / n) + 1]; ++k)
            for (std::int64_t j = 0; j < n; ++j)
                visit(row, a.columns[static_cast<std::size_t>(k)] * n + j, a.values[static_cast<std::size_t>((k * n + row % n) * n + j)]);
}

}  // namespace trifold::formats
