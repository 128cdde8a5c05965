#include "runtime/base/condition.hpp"

#include <cmath>
#include <trifold/error.hpp>

#include "runtime/grid/rows.hpp"
#include "runtime/grid/solver_impl.hpp"

/// How far an image is from a singular one, by solutions with its factors.
namespace trifold {
namespace {

/// Scales of the rows of all images, one behind the other, and the norms of the scaled matrices.
struct Scaled {
    std::vector<double> scales, norms;
};

/// R A in the infinity norm; of a symmetric matrix R A R.
template <class Real>
Scaled scaled_rows(const GridSpec& spec, std::span<const Real> stencil, std::int64_t members) {
    const bool symmetric = spec.matrix == GridMatrix::symmetric;
    Scaled result;
    for (std::int64_t member = 0; member < members; ++member) {
        const GridRows<Real> rows(spec, stencil.data() + member * spec.width * spec.height * 9);
        const auto scales = rows.scales();
        double norm = 0;
        for (std::int64_t row = 0; row < rows.pixels(); ++row) {
            double sum = 0;
            rows.each(row, [&](std::int64_t column, double entry) {
                sum += std::abs(entry) * scales[static_cast<std::size_t>(row)] * (symmetric ? scales[static_cast<std::size_t>(column)] : 1);
            });
            norm = std::max(norm, sum);
        }
        result.norms.push_back(norm);
        result.scales.insert(result.scales.end(), scales.begin(), scales.end());
    }
    return result;
}

/// Solutions for all images, in double.
template <class Real>
class Solutions {
  public:
    Solutions(GridSolver& solver, std::int64_t members, const GridRows<Real>& rows, const std::vector<double>& scales)
        : solver_(solver),
          options_{.columns = 1, .members = members, .accept_nearly_singular = true},
          rows_(rows),
          scales_(scales),
          b_(scales.size()),
          x_(b_.size()) {}

    /// x becomes (R A)^-1 x = A^-1 R^-1 x, or R^-1 A'^-1 x; of a symmetric matrix R^-1 A^-1 R^-1 x. A ring of data stays zero.
    void operator()(std::span<double> x, bool transposed) {
        const bool symmetric = solver_.plan().spec().matrix == GridMatrix::symmetric;
        for (std::size_t k = 0; k < x.size(); ++k)
            b_[k] = is_unknown(k) ? static_cast<Real>(symmetric || !transposed ? x[k] / scales_[k] : x[k]) : 0;
        if (transposed && !symmetric)
            solver_.solve_transposed(std::span<const Real>(b_), std::span<Real>(x_), options_);
        else
            solver_.solve(std::span<const Real>(b_), std::span<Real>(x_), options_);
        for (std::size_t k = 0; k < x.size(); ++k) {
            const auto value = static_cast<double>(x_[k]);
            x[k] = !is_unknown(k) ? 0 : symmetric || transposed ? value / scales_[k] : value;
        }
    }

  private:
    bool is_unknown(std::size_t k) const { return rows_.is_unknown(static_cast<std::int64_t>(k) % rows_.pixels()); }

    GridSolver& solver_;
    GridOptions options_;
    const GridRows<Real>& rows_;
    const std::vector<double>& scales_;
    std::vector<Real> b_, x_;
};

/// The infinity norm is the 1-norm of the transpose.
template <class Real>
std::vector<double> inverse_norms(GridSolver& solver, std::span<const Real> stencil, const Scaled& scaled, std::int64_t members) {
    const GridRows<Real> rows(solver.plan().spec(), stencil.data());
    Solutions<Real> solutions(solver, members, rows, scaled.scales);
    return inverse_norm_estimates(
        rows.pixels(), members, [&](std::span<double> x) { solutions(x, true); }, [&](std::span<double> x) { solutions(x, false); });
}

}  // namespace

template <class Real>
std::vector<double> GridSolver::reciprocal_condition(std::span<const Real> stencil, const GridOptions& options) {
    auto& self = impl();
    const auto& spec = plan().spec();
    const auto resolved = self.resolve(GridOperation::solve, options);
    if (spec.matrix == GridMatrix::general) self.resolve(GridOperation::solve_transposed, options);
    self.table.array(static_cast<std::size_t>(GridOperation::factor), 0, AnyArray(stencil), {resolved.members, resolved.columns});
    const auto scaled = scaled_rows(spec, stencil, resolved.members);
    const auto norms = inverse_norms(*this, stencil, scaled, resolved.members);
    std::vector<double> result;
    for (std::size_t k = 0; k < norms.size(); ++k) {
        const double product = scaled.norms[k] * norms[k];
        result.push_back(std::isfinite(product) && product > 0 ? 1 / product : 0);
    }
    return result;
}

template std::vector<double> GridSolver::reciprocal_condition(std::span<const float>, const GridOptions&);
template std::vector<double> GridSolver::reciprocal_condition(std::span<const double>, const GridOptions&);

}  // namespace trifold
