#pragma once
// Sparse problems for tests, and a factorization of one subdomain that is written for reading.
#include <Eigen/Dense>
#include <Eigen/SparseCore>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <trifold/sparse_spec.hpp>
#include <vector>

namespace trifold::test {

using SparseRows = Eigen::SparseMatrix<double, Eigen::RowMajor>;

/// A matrix of blocks: pattern and values as a SparseSolver takes them.
struct BlockMatrix {
    std::int64_t block = 1;
    std::vector<std::int64_t> starts{0}, columns;
    std::vector<double> values;  // [entries][block][block]
    std::int64_t rows() const { return static_cast<std::int64_t>(starts.size()) - 1; }
    std::int64_t size() const { return rows() * block; }
    SparsePattern pattern() const { return {std::span(starts), std::span(columns)}; }

    SparseRows eigen() const {
        std::vector<Eigen::Triplet<double>> all;
        for (std::int64_t row = 0; row < rows(); ++row)
            for (auto k = starts[static_cast<std::size_t>(row)]; k < starts[static_cast<std::size_t>(row) + 1]; ++k)
                for (std::int64_t i = 0; i < block; ++i)
                    for (std::int64_t j = 0; j < block; ++j)
                        all.emplace_back(static_cast<int>(row * block + i),
                                         static_cast<int>(columns[static_cast<std::size_t>(k)] * block + j),
                                         values[static_cast<std::size_t>((k * block + i) * block + j)]);
        SparseRows a(static_cast<int>(size()), static_cast<int>(size()));
        a.setFromTriplets(all.begin(), all.end());
        return a;
    }
};

/// Random blocks in such a pattern, with a diagonal that outweighs them by `weight`; symmetric on request.
inline BlockMatrix random_blocks(std::int64_t block, std::vector<std::int64_t> starts, std::vector<std::int64_t> columns, unsigned seed,
                                 double weight = 1.2, bool symmetric = false) {
    BlockMatrix a{block, std::move(starts), std::move(columns), {}};
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> number(-1, 1);
    a.values.resize(a.columns.size() * static_cast<std::size_t>(block * block));
    for (auto& value : a.values) value = number(random);
    const auto entry = [&](std::int64_t k, std::int64_t i, std::int64_t j) -> double& {
        return a.values[static_cast<std::size_t>((k * block + i) * block + j)];
    };
    const auto find = [&](std::int64_t row, std::int64_t column) {
        for (auto k = a.starts[static_cast<std::size_t>(row)]; k < a.starts[static_cast<std::size_t>(row) + 1]; ++k)
            if (a.columns[static_cast<std::size_t>(k)] == column) return k;
        return std::int64_t{-1};
    };
    for (std::int64_t row = 0; row < a.rows(); ++row)
        for (auto k = a.starts[static_cast<std::size_t>(row)]; k < a.starts[static_cast<std::size_t>(row) + 1]; ++k) {
            const auto column = a.columns[static_cast<std::size_t>(k)];
            if (!symmetric || column > row) continue;
            const auto other = find(column, row);
            for (std::int64_t i = 0; i < block; ++i)
                for (std::int64_t j = 0; j < block; ++j) entry(k, i, j) = entry(other, j, i);
        }
    for (std::int64_t row = 0; row < a.rows(); ++row) {
        const auto own = find(row, row);
        for (std::int64_t i = 0; i < block; ++i) {
            double sum = 0;
            for (auto k = a.starts[static_cast<std::size_t>(row)]; k < a.starts[static_cast<std::size_t>(row) + 1]; ++k)
                for (std::int64_t j = 0; j < block; ++j)
                    if (k != own || i != j) sum += std::abs(entry(k, i, j));
            entry(own, i, i) = weight * sum + 1;
        }
        if (symmetric)
            for (std::int64_t i = 0; i < block; ++i)
                for (std::int64_t j = 0; j < i; ++j) entry(own, i, j) = entry(own, j, i);
    }
    return a;
}

/// The entries of a pattern, for random_blocks.
inline BlockMatrix random_on(const SparsePattern& pattern, std::int64_t block, unsigned seed, double weight = 1.2, bool symmetric = false) {
    return random_blocks(block, {pattern.starts().begin(), pattern.starts().end()}, {pattern.columns().begin(), pattern.columns().end()},
                         seed, weight, symmetric);
}

/// Rows with about `neighbours` random neighbours each, symmetric in its pattern where asked; triangles among them.
inline BlockMatrix scattered(std::int64_t rows, std::int64_t neighbours, std::int64_t block, unsigned seed, bool symmetric = false) {
    std::mt19937 random(seed);
    std::vector<std::vector<std::int64_t>> of_row(static_cast<std::size_t>(rows));
    for (std::int64_t row = 0; row < rows; ++row) {
        of_row[static_cast<std::size_t>(row)].push_back(row);
        for (std::int64_t k = 0; k < neighbours; ++k) {
            // Near the row, so that triangles are frequent.
            const auto away = static_cast<std::int64_t>(random() % 15) - 7, column = std::clamp<std::int64_t>(row + away, 0, rows - 1);
            of_row[static_cast<std::size_t>(row)].push_back(column);
            if (symmetric) of_row[static_cast<std::size_t>(column)].push_back(row);
        }
    }
    std::vector<std::int64_t> starts{0}, columns;
    for (auto& list : of_row) {
        std::ranges::sort(list);
        list.erase(std::ranges::unique(list).begin(), list.end());
        columns.insert(columns.end(), list.begin(), list.end());
        starts.push_back(static_cast<std::int64_t>(columns.size()));
    }
    return random_blocks(block, starts, columns, seed + 1, 1.2, symmetric);
}

inline std::vector<double> random_vector(std::int64_t count, unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> number(-1, 1);
    std::vector<double> all(static_cast<std::size_t>(count));
    for (auto& value : all) value = number(random);
    return all;
}

inline Eigen::Map<const Eigen::VectorXd> as_vector(const std::vector<double>& all) {
    return {all.data(), static_cast<Eigen::Index>(all.size())};
}

inline double residual_of(const BlockMatrix& a, const std::vector<double>& x, const std::vector<double>& b) {
    return (as_vector(b) - a.eigen() * as_vector(x)).norm() / as_vector(b).norm();
}

/// (L D U)_ij = A_ij where the pattern has (i, j) and both rows are of one subdomain: dense, block by block, straight from the definition.
class DenseIldu {
  public:
    /// `fill`: levels of fill; `diagonal_alone`: only D is computed.
    DenseIldu(const BlockMatrix& a, const std::vector<std::int32_t>& parts, int fill = 0, bool diagonal_alone = false)
        : a_(a), size_(a.rows()) {
        const auto n = static_cast<std::size_t>(size_);
        level_.assign(n * n, none);
        const Eigen::Index b = a.block, all = a.size();
        w_ = Eigen::MatrixXd::Zero(all, all);
        const Eigen::MatrixXd dense = a.eigen();
        for (std::int64_t row = 0; row < size_; ++row)
            for (auto k = a.starts[static_cast<std::size_t>(row)]; k < a.starts[static_cast<std::size_t>(row) + 1]; ++k) {
                const auto column = a.columns[static_cast<std::size_t>(k)];
                if (parts[static_cast<std::size_t>(row)] != parts[static_cast<std::size_t>(column)]) continue;
                level(row, column) = 0;
                at(row, column) = dense.block(row * b, column * b, b, b);
            }
        // The pattern comes first: entries that are filled late get what was eliminated early, too.
        eliminate(fill, [&](std::int64_t i, std::int64_t k, std::int64_t j) {
            level(i, j) = std::min(level(i, j), level(i, k) + level(k, j) + 1);
        });
        eliminate(fill, [&](std::int64_t i, std::int64_t k, std::int64_t j) {
            if (level(i, j) <= fill && (!diagonal_alone || i == j)) at(i, j) -= at(i, k) * at(k, k).inverse() * at(k, j);
        });
        lower_ = Eigen::MatrixXd::Identity(all, all);
        upper_ = lower_;
        diagonal_ = Eigen::MatrixXd::Zero(all, all);
        for (std::int64_t i = 0; i < size_; ++i)
            for (std::int64_t j = 0; j < size_; ++j) {
                if (level(i, j) > fill) continue;
                if (i > j) lower_.block(i * b, j * b, b, b) = at(i, j) * at(j, j).inverse();
                if (i < j) upper_.block(i * b, j * b, b, b) = at(i, i).inverse() * at(i, j);
                if (i == j) diagonal_.block(i * b, i * b, b, b) = at(i, i);
            }
    }
    Eigen::MatrixXd matrix() const { return lower_ * diagonal_ * upper_; }
    bool has(std::int64_t row, std::int64_t column, int fill = 0) { return level(row, column) <= fill; }

  private:
    static constexpr int none = 1 << 20;
    template <class Step>
    void eliminate(int fill, const Step& step) {
        for (std::int64_t i = 0; i < size_; ++i)
            for (std::int64_t k = 0; k < i; ++k)
                for (auto j = k + 1; level(i, k) <= fill && j < size_; ++j)
                    if (level(k, j) <= fill) step(i, k, j);
    }
    int& level(std::int64_t i, std::int64_t j) { return level_[static_cast<std::size_t>(i * size_ + j)]; }
    Eigen::Block<Eigen::MatrixXd> at(std::int64_t i, std::int64_t j) { return w_.block(i * a_.block, j * a_.block, a_.block, a_.block); }
    const BlockMatrix& a_;
    std::int64_t size_;
    std::vector<int> level_;
    Eigen::MatrixXd w_, lower_, diagonal_, upper_;
};

}  // namespace trifold::test
