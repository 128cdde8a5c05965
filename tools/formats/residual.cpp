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
        std::vector<double> row(static_cast<std::size_t>(m_)), residual(row.size()), x_norm(row.size()), b_norm(row.size());
        double a_norm = 0;
        for (std::int64_t i = 0; i < horizon_; ++i) {
            for (std::int64_t r = 0; r < n_; ++r) {
                for (std::int64_t j = 0; j < m_; ++j) row[at(j)] = -b_[(i * n_ + r) * m_ + j];
                a_norm = std::max(a_norm, add_row(i, r, row));
                for (std::int64_t j = 0; j < m_; ++j) {
                    raise(residual[at(j)], row[at(j)]);
                    raise(x_norm[at(j)], x_[(i * n_ + r) * m_ + j]);
                    raise(b_norm[at(j)], b_[(i * n_ + r) * m_ + j]);
                }
            }
        }
        double worst = 0;
        for (std::size_t j = 0; j < row.size(); ++j) {
            const auto size = a_norm * x_norm[j] + b_norm[j];
            raise(worst, size == 0 ? residual[j] : residual[j] / size);
        }
        return worst;
    }

  private:
    static std::size_t at(std::int64_t value) { return static_cast<std::size_t>(value); }
    /// Keeps the larger magnitude; NaN stays.
    static void raise(double& largest, double value) {
        if (!(std::abs(value) <= largest) && !std::isnan(largest)) largest = std::abs(value);
    }
    void add(double a, std::int64_t block, std::int64_t c, std::vector<double>& row, double& sum) const {
        sum += std::abs(a);
        const auto* x = x_ + (block * n_ + c) * m_;
        for (std::int64_t j = 0; j < m_; ++j) row[at(j)] += a * x[j];
    }
    /// Adds row r of block row i of A times x; returns the row's absolute sum.
    double add_row(std::int64_t i, std::int64_t r, std::vector<double>& row) const {
        double sum = 0;
        for (std::int64_t c = 0; c < n_; ++c) {
            if (i > 0) add(e_[((i - 1) * n_ + r) * n_ + c], i - 1, c, row, sum);
            add(d_[(i * n_ + std::max(r, c)) * n_ + std::min(r, c)], i, c, row, sum);
            if (i + 1 < horizon_) add(e_[(i * n_ + c) * n_ + r], i + 1, c, row, sum);
        }
        return sum;
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
