#include "tools/formats/block_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>

#include "tools/formats/file.hpp"

namespace trifold::formats {

BlockRows to_block_rows(const SparseMatrix& matrix, std::int64_t block) {
    if (matrix.rows != matrix.columns)
        throw InputError(fmt::format("A has {} rows and {} columns; it must be square", matrix.rows, matrix.columns));
    if (matrix.rows % block != 0)
        throw InputError(fmt::format("A has {} rows, which is no multiple of blocks of {}; give another --block", matrix.rows, block));
    struct Placed {
        std::int64_t column, place;
        double value;
    };
    const auto count = matrix.rows / block;
    std::vector<bool> is_empty(static_cast<std::size_t>(count), true);
    for (const auto& entry : matrix.entries) {
        is_empty[static_cast<std::size_t>(entry.row / block)] = false;
        if (matrix.symmetric) is_empty[static_cast<std::size_t>(entry.column / block)] = false;
    }
    const auto visit = [&](const auto& add) {
        for (const auto& entry : matrix.entries) {
            add(entry.row, entry.column, entry.value);
            if (matrix.symmetric && entry.row != entry.column) add(entry.column, entry.row, entry.value);
        }
        for (std::int64_t row = 0; row < count; ++row)
            if (!is_empty[static_cast<std::size_t>(row)]) add(row * block, row * block, 0.0);
    };
    // By row first, which takes no comparisons.
    std::vector<std::int64_t> ends(static_cast<std::size_t>(count) + 1, 0);
    visit([&](std::int64_t row, std::int64_t, double) { ++ends[static_cast<std::size_t>(row / block) + 1]; });
    std::partial_sum(ends.begin(), ends.end(), ends.begin());
    std::vector<Placed> all(static_cast<std::size_t>(ends.back()));
    visit([&](std::int64_t row, std::int64_t column, double value) {
        all[static_cast<std::size_t>(ends[static_cast<std::size_t>(row / block)]++)] = {column / block,
                                                                                        row % block * block + column % block, value};
    });
    BlockRows rows{block};
    for (auto begin = all.begin(); const auto end : std::span(ends).first(ends.size() - 1)) {
        const std::ranges::subrange row(begin, all.begin() + end);
        std::ranges::stable_sort(row, {}, &Placed::column);
        for (const auto& entry : row) {
            if (rows.starts.back() == static_cast<std::int64_t>(rows.columns.size()) || rows.columns.back() != entry.column) {
                rows.columns.push_back(entry.column);
                rows.values.resize(rows.values.size() + static_cast<std::size_t>(block * block), 0.0);
            }
            rows.values[rows.values.size() - static_cast<std::size_t>(block * block - entry.place)] += entry.value;
        }
        rows.starts.push_back(static_cast<std::int64_t>(rows.columns.size()));
        begin = row.end();
    }
    return rows;
}

SparseMatrix to_sparse(const BlockRows& rows) {
    const auto all = rows.rows() * rows.block;
    SparseMatrix matrix{all, all, false, {}};
    for_each_entry(rows, [&](std::int64_t row, std::int64_t column, double value) {
        if (value != 0) matrix.entries.push_back({row, column, value});
    });
    return matrix;
}

std::int64_t infer_dense_block(const SparseMatrix& matrix, std::int64_t most) {
    const auto rows = to_block_rows(matrix, 1);
    for (auto block = most; block > 1; --block) {
        if (matrix.rows % block != 0) continue;
        std::vector<std::int64_t> last(static_cast<std::size_t>(matrix.rows / block), -1);  // the row of blocks that has this column
        std::int64_t blocks = 0;
        for (std::int64_t row = 0; row < rows.rows(); ++row)
            for (auto k = rows.starts[static_cast<std::size_t>(row)]; k < rows.starts[static_cast<std::size_t>(row) + 1]; ++k) {
                auto& seen = last[static_cast<std::size_t>(rows.columns[static_cast<std::size_t>(k)] / block)];
                if (seen != row / block) ++blocks;
                seen = row / block;
            }
        if (4 * std::ssize(rows.columns) >= 3 * blocks * block * block) return block;
    }
    return 1;
}

}  // namespace trifold::formats
