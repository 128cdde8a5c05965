#include "tools/formats/residual.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace trifold::formats {
namespace {

/// One member's view of a System.
class Member {
  public:
    Member(const System& system, std::int64_t member, const double* x)
        : n_(system.block),
          horizon_(system.horizon),
          m_(system.rhs),
          d_(system.d.data() + member * horizon_ * n_ * n_),
          e_(system.e.data() + member * (horizon_ - 1) * n_ * n_),
          b_(system.b.data() + member * horizon_ * n_ * m_),
          x_(x + member * horizon_ * n_ * m_) {}

    double worst() const {
        std::vector<Wide> x_norm(at(m_)), b_norm(at(m_)), residual(at(m_));
        Wide a_norm = 0;
        for (std::int64_t i = 0; i < horizon_; ++i) {
            Rows rows{std::vector<Wide>(b_ + i * n_ * m_, b_ + (i + 1) * n_ * m_), std::vector<Wide>(at(n_))};
            for (auto& value : rows.values) value = -value;
            add_blocks(i, rows);
            for (const auto sum : rows.sums) a_norm = std::max(a_norm, sum);
            for (std::int64_t r = 0; r < n_; ++r) {
                for (std::int64_t j = 0; j < m_; ++j) {
                    raise(residual[at(j)], rows.values[at(r * m_ + j)]);
                    raise(x_norm[at(j)], x_[(i * n_ + r) * m_ + j]);
                    raise(b_norm[at(j)], b_[(i * n_ + r) * m_ + j]);
                }
            }
        }
        Wide worst = 0;
        for (std::size_t j = 0; j < residual.size(); ++j) {
            const auto size = a_norm * x_norm[j] + b_norm[j];
            raise(worst, size == 0 ? residual[j] : residual[j] / size);
        }
        return static_cast<double>(worst);
    }

  private:
    /// The rows of one block: A x - b, and the sums of A's magnitudes.
    struct Rows {
        std::vector<Wide> values, sums;
    };
    static std::size_t at(std::int64_t value) { return static_cast<std::size_t>(value); }
    static void raise(Wide& largest, Wide value) { largest = worse(largest, std::abs(value)); }
    /// Entry `a` of row r, whose column is row `from` of x.
    void add(Rows& rows, std::int64_t r, double a, std::int64_t from) const {
        rows.sums[at(r)] += std::abs(a);
        for (std::int64_t j = 0; j < m_; ++j) rows.values[at(r * m_ + j)] += Wide{a} * x_[from * m_ + j];
    }
    /// Every block of row i, in the order it is stored in: large ones do not fit a cache.
    void add_blocks(std::int64_t i, Rows& rows) const {
        for (std::int64_t r = 0; r < n_; ++r) {
            for (std::int64_t c = 0; c < n_ && i > 0; ++c) add(rows, r, e_[((i - 1) * n_ + r) * n_ + c], (i - 1) * n_ + c);
            for (std::int64_t c = 0; c <= r; ++c) {
                const auto a = d_[(i * n_ + r) * n_ + c];
                add(rows, r, a, i * n_ + c);
                if (c < r) add(rows, c, a, i * n_ + r);
            }
        }
        for (std::int64_t c = 0; c < n_ && i + 1 < horizon_; ++c) {
            for (std::int64_t r = 0; r < n_; ++r) add(rows, r, e_[(i * n_ + c) * n_ + r], (i + 1) * n_ + c);
        }
    }
    std::int64_t n_, horizon_, m_;
    const double *d_, *e_, *b_, *x_;
};

}  // namespace

std::vector<double> relative_residuals(const System& system, std::span<const double> x) {
    std::vector<double> residuals;
    for (std::int64_t member = 0; member < system.batch; ++member) residuals.push_back(Member(system, member, x.data()).worst());
    return residuals;
}

}  // namespace trifold::formats
