#pragma once
#include <algorithm>
#include <numeric>

#include "tests/support/cpu/general.hpp"

namespace trifold::test {

/// Kinds of matrices on which elimination may fail, grow, or tell the wrong sign.
inline constexpr const char* hard_kinds[]{"zeros on the diagonal", "integers",          "a block of low rank",  "permuted identities",
                                          "tiny blocks",           "rows of all sizes", "columns of all sizes", "sparse"};

inline void make_hard(GeneralSystems<double>& systems, const Spec& spec, std::int64_t member, std::size_t kind, std::mt19937& random) {
    const auto n = spec.block;
    const auto below = [&](std::int64_t count) { return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(count)); };
    std::vector<std::int64_t> order(static_cast<std::size_t>(n));
    std::vector<double> sizes(static_cast<std::size_t>(n * spec.horizon));
    for (auto& size : sizes) size = std::pow(10.0, static_cast<double>(below(61) - 30));
    const auto special = below(spec.horizon), odd = below(n);
    for (std::int64_t i = 0; i < spec.horizon; ++i) {
        std::iota(order.begin(), order.end(), 0);
        std::ranges::shuffle(order, random);
        const double tiny = std::pow(10.0, static_cast<double>(-below(18)));
        for (std::int64_t j = std::max<std::int64_t>(i - 1, 0); j < std::min(i + 2, spec.horizon); ++j)
            for (std::int64_t r = 0; r < n; ++r)
                for (std::int64_t c = 0; c < n; ++c) {
                    double value = systems.draw();
                    if (kind == 0 && i == j && (r == c || below(4) == 0)) value = 0;
                    if (kind == 1) value = static_cast<double>(below(5) - 2);
                    if (kind == 2 && i == j && i == special && r == odd) value = 0;
                    if (kind == 3) value = i == j ? (order[static_cast<std::size_t>(r)] == c ? 1 : 0) : below(3 * n) == 0 ? 1 : 0;
                    if (kind == 4 && i == j) value *= tiny;
                    if (kind == 5) value *= sizes[static_cast<std::size_t>(i * n + r)];
                    if (kind == 6) value *= sizes[static_cast<std::size_t>(j * n + c)];
                    if (kind == 7 && below(2) == 0) value = 0;
                    systems.set(member, i, j, r, c, value);
                    systems.dense(member)(i * n + r, j * n + c) = value;  // to the last bit, whatever was there before
                }
    }
}

/// The sign of det A, 0 where it is singular, by full pivoting in a wider type after rows and columns are scaled by powers of two.
inline int sign_of_determinant(const Eigen::MatrixXd& given) {
    using Wide = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;
    Wide a = given.cast<long double>();
    for (int turn = 0; turn < 2; ++turn, a.transposeInPlace())
        for (Eigen::Index r = 0; r < a.rows(); ++r) {
            const long double largest = a.row(r).cwiseAbs().maxCoeff();
            if (largest == 0) return 0;
            a.row(r) *= std::ldexp(1.0L, -std::ilogb(largest));
        }
    const Eigen::FullPivLU<Wide> lu(a);
    const auto pivots = lu.matrixLU().diagonal();
    if (pivots.cwiseAbs().minCoeff() < 1e-16L * pivots.cwiseAbs().maxCoeff()) return 0;
    const bool odd = (pivots.array() < 0).count() % 2 != 0;
    const auto swaps = lu.permutationP().determinant() * lu.permutationQ().determinant();
    return (odd ? -1 : 1) * static_cast<int>(swaps);
}

}  // namespace trifold::test
