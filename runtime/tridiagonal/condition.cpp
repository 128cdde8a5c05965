// Reciprocal condition numbers, by solutions with a Solver's factors.
#include "runtime/base/condition.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <trifold/error.hpp>
#include <trifold/solver.hpp>

#include "runtime/tridiagonal/solver_impl.hpp"

namespace trifold {
namespace {

/// A host's D and E with what the options add, and a border's F and C, in double: S A S, where S makes every diagonal entry one. Where
/// pivots have both signs these may be zero, and S makes the largest entry of each row about one. A general matrix is R A C, where R makes
/// the largest entry of each row one, and C that of each column then.
template <class Real>
class ScaledMatrix {
  public:
    ScaledMatrix(const Spec& spec, const Real* d, const Real* e, const FactorOptions<Real>& options)
        : spec_(spec), d_(d), e_(e), options_(options), d_strides_(diagonal_strides(spec)), e_strides_(coupling_strides(spec)) {}

    /// 1 / R and 1 / C, or 1 / S twice.
    std::pair<std::vector<double>, std::vector<double>> scales(std::int64_t member) const {
        auto left = spec_.matrix == MatrixKind::general ? largest_of_rows(member) : roots(member);
        if (spec_.matrix != MatrixKind::general) return {left, left};
        std::vector<double> right(left.size(), 0);
        each_entry(member, [&](std::int64_t row, std::int64_t column, double value) {
            auto& largest = right[static_cast<std::size_t>(column)];
            largest = std::max(largest, std::abs(value) / left[static_cast<std::size_t>(row)]);
        });
        for (auto& value : right) value = value > 0 ? value : 1;
        return {left, right};
    }
    /// Its 1-norm, the largest sum of a column's magnitudes.
    double norm(std::int64_t member, const std::vector<double>& left, const std::vector<double>& right) const {
        std::vector<double> sums(left.size(), 0);
        each_entry(member, [&](std::int64_t row, std::int64_t column, double value) {
            const auto r = static_cast<std::size_t>(row), c = static_cast<std::size_t>(column);
            const double scaled = std::abs(value / left[r] / right[c]);
            sums[c] += scaled;
            if (r != c && spec_.matrix != MatrixKind::general) sums[r] += scaled;
        });
        return *std::ranges::max_element(sums);
    }

  private:
    /// 1 / S; ones beyond a member's length and a block's size.
    std::vector<double> roots(std::int64_t member) const {
        if (spec_.matrix == MatrixKind::symmetric) return roots_of_rows(member);
        std::vector<double> result;
        for (std::int64_t i = 0; i < spec_.horizon; ++i)
            for (std::int64_t r = 0; r < spec_.block; ++r) result.push_back(r < rows(member, i) ? std::sqrt(diagonal(member, i, r, r)) : 1);
        for (std::int64_t k = 0; k < spec_.border; ++k) result.push_back(std::sqrt(corner(member, k, k)));
        return result;
    }
    std::vector<double> largest_of_rows(std::int64_t member) const {
        std::vector<double> largest(static_cast<std::size_t>(spec_.block * spec_.horizon), 0);
        each_entry(member, [&](std::int64_t row, std::int64_t, double value) {
            largest[static_cast<std::size_t>(row)] = std::max(largest[static_cast<std::size_t>(row)], std::abs(value));
        });
        for (auto& value : largest) value = value > 0 ? value : 1;
        return largest;
    }
    std::vector<double> roots_of_rows(std::int64_t member) const {
        std::vector<double> largest(static_cast<std::size_t>(spec_.block * spec_.horizon), 0);
        each_entry(member, [&](std::int64_t row, std::int64_t column, double value) {
            for (const auto place : {row, column})
                largest[static_cast<std::size_t>(place)] = std::max(largest[static_cast<std::size_t>(place)], std::abs(value));
        });
        for (auto& value : largest) value = value > 0 ? std::sqrt(value) : 1;
        return largest;
    }
    /// add(row, column, value) for one entry of each mirrored pair, or all of a general matrix. Where a ring has few blocks, two of E's are
    /// between the same two of A.
    template <class Add>
    void each_entry(std::int64_t member, const Add& add) const {
        if (spec_.matrix == MatrixKind::general) return each_of_all(member, add);
        const auto n = spec_.block, a = spec_.border, last = n * spec_.horizon;
        for (std::int64_t i = 0; i < spec_.horizon; ++i)
            for (std::int64_t c = 0; c < rows(member, i); ++c) {
                for (std::int64_t r = c; r < rows(member, i); ++r) add(i * n + r, i * n + c, diagonal(member, i, r, c));
                for (std::int64_t k = 0; k < a; ++k)
                    add(last + k, i * n + c, static_cast<double>(options_.f[((member * spec_.horizon + i) * a + k) * n + c]));
                for (std::int64_t k = 1; k <= spec_.bandwidth && (spec_.ring || i + k < spec_.horizon); ++k) {
                    const auto to = (i + k) % spec_.horizon, back = spec_.horizon - k;
                    const bool is_twofold = spec_.ring && back <= spec_.bandwidth;
                    if (is_twofold && (back < k || (back == k && to < i))) continue;
                    for (std::int64_t r = 0; r < rows(member, to); ++r)
                        add(to * n + r, i * n + c, coupling(member, i, k, r, c) + (is_twofold ? coupling(member, to, back, c, r) : 0));
                }
            }
        for (std::int64_t k = 0; k < a; ++k)
            for (std::int64_t j = 0; j <= k; ++j) add(last + k, last + j, corner(member, k, j));
    }
    template <class Add>
    void each_of_all(std::int64_t member, const Add& add) const {
        const auto n = spec_.block;
        for (std::int64_t i = 0; i < spec_.horizon; ++i)
            for (std::int64_t r = 0; r < n; ++r)
                for (std::int64_t c = 0; c < n; ++c) {
                    add(i * n + r, i * n + c, diagonal(member, i, r, c));
                    if (i >= couplings_of(spec_)) continue;
                    const auto next = (i + 1) % spec_.horizon;
                    add(next * n + r, i * n + c, element(e_, e_strides_, member, i, r, c));
                    add(i * n + r, next * n + c, element(options_.u, e_strides_, member, i, r, c));
                }
    }
    /// A block's, by the member's length and its own size. A GPU's factorization may have been given an odd one, which has no factor and
    /// must not be read by.
    std::int64_t rows(std::int64_t member, std::int64_t block) const {
        if (options_.lengths != nullptr && block >= options_.lengths[member]) return 0;
        if (options_.sizes == nullptr) return spec_.block;
        return std::clamp<std::int64_t>(options_.sizes[member * spec_.horizon + block], 0, spec_.block);
    }
    double corner(std::int64_t member, std::int64_t r, std::int64_t c) const {
        const auto value = static_cast<double>(options_.c[(member * spec_.border + r) * spec_.border + c]);
        return r == c && options_.shift != nullptr ? value + static_cast<double>(options_.shift[member]) : value;
    }
    static double element(const Real* from, const Strides& s, std::int64_t member, std::int64_t block, std::int64_t r, std::int64_t c) {
        return static_cast<double>(from[member * s.member + block * s.stage + r * s.row + c * s.column]);
    }
    double coupling(std::int64_t member, std::int64_t block, std::int64_t ahead, std::int64_t r, std::int64_t c) const {
        return element(e_ + (ahead - 1) * band_stride(spec_), e_strides_, member, block, r, c);
    }
    double diagonal(std::int64_t member, std::int64_t block, std::int64_t r, std::int64_t c) const {
        double value = element(d_, d_strides_, member, block, r, c);
        if (const auto all = spec_.horizon; spec_.ring && all <= spec_.bandwidth)
            value += coupling(member, block, all, r, c) + coupling(member, block, all, c, r);
        if (r == c && options_.diagonal != nullptr)
            value += static_cast<double>(options_.diagonal[(member * spec_.horizon + block) * spec_.block + r]);
        if (r == c && options_.shift != nullptr) value += static_cast<double>(options_.shift[member]);
        return value;
    }
    const Spec& spec_;
    const Real *d_, *e_;
    const FactorOptions<Real>& options_;
    Strides d_strides_, e_strides_;
};

}  // namespace

template <class Real>
std::vector<double> Solver::reciprocal_condition(std::span<const Real> d, std::span<const Real> e, const FactorOptions<Real>& options) {
    const auto& spec = plan().choice().spec;
    if (spec.border > 0 && (options.f == nullptr || options.c == nullptr))
        throw SpecError("the condition of a matrix with a border needs the F and C that were factored; give them in the options");
    if (spec.matrix == MatrixKind::general && options.u == nullptr && couplings_of(spec) > 0)
        throw SpecError("the condition of a general matrix needs the U that was factored; give it in the options");
    const auto members = options.members == 0 ? spec.batch : options.members, n = spec.block, a = spec.border,
               unknowns = n * spec.horizon + a;
    impl().check_readable(std::array<AnyArray, 2>{d, e}, options.members);
    const ScaledMatrix<Real> matrix(spec, d.data(), e.data(), options);
    std::vector<double> left, right, norms;
    for (std::int64_t m = 0; m < members; ++m) {
        const auto [of_rows, of_columns] = matrix.scales(m);
        norms.push_back(matrix.norm(m, of_rows, of_columns));
        left.insert(left.end(), of_rows.begin(), of_rows.end());
        right.insert(right.end(), of_columns.begin(), of_columns.end());
    }
    const auto s = rhs_strides(spec, 1);
    std::vector<Real> b(static_cast<std::size_t>(rhs_extent(spec, members, 1))), tip(static_cast<std::size_t>(members * a));
    const auto each = [&](auto use) {
        std::size_t k = 0;
        for (std::int64_t m = 0; m < members; ++m) {
            for (std::int64_t i = 0; i < spec.horizon; ++i)
                for (std::int64_t r = 0; r < n; ++r, ++k) use(k, b[static_cast<std::size_t>(m * s.member + i * s.stage + r * s.row)]);
            for (std::int64_t r = 0; r < a; ++r, ++k) use(k, tip[static_cast<std::size_t>(m * a + r)]);
        }
    };
    SweepOptions sweep{.columns = 1, .active = options.active, .members = members};
    if (a > 0) sweep.tip_b = sweep.tip_x = AnyArray(tip);
    const auto apply = [&](Operation operation, std::span<double> x, const std::vector<double>& before, const std::vector<double>& after) {
        each([&](std::size_t k, Real& value) { value = static_cast<Real>(x[k] * before[k]); });
        run(operation, {b, b}, sweep.on({}));
        each([&](std::size_t k, Real& value) { x[k] = static_cast<double>(value) * after[k]; });
    };
    const auto turned = spec.matrix == MatrixKind::general ? Operation::solve_transposed : Operation::solve;
    auto result = inverse_norm_estimates(
        unknowns, members, [&](std::span<double> x) { apply(Operation::solve, x, left, right); },
        [&](std::span<double> x) { apply(turned, x, right, left); });
    for (std::size_t m = 0; m < result.size(); ++m) {
        const bool solved = options.active == nullptr || options.active[m] != 0;
        const double condition = result[m] * norms[m];
        result[m] = !solved ? std::numeric_limits<double>::quiet_NaN() : condition >= 1 ? 1 / condition : std::isnan(condition) ? 0 : 1;
    }
    return result;
}
template std::vector<double> Solver::reciprocal_condition(std::span<const float>, std::span<const float>, const FactorOptions<float>&);
template std::vector<double> Solver::reciprocal_condition(std::span<const double>, std::span<const double>, const FactorOptions<double>&);

}  // namespace trifold
