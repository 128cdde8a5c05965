#include "runtime/base/condition.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <trifold/error.hpp>

#include "runtime/grid/rows.hpp"
#include "runtime/grid/solver_impl.hpp"

/// How far an image is from a singular one, by solutions with its factors.
namespace trifold {
namespace {

/// Solutions for one image of a batch, in double. The others' right-hand sides are zero.
template <class Real>
class OneImage {
  public:
    OneImage(GridSolver& solver, const GridOptions& options, std::int64_t member, const GridRows<Real>& rows)
        : solver_(solver),
          options_{.columns = 1, .members = options.members, .accept_nearly_singular = true},
          first_(member * rows.pixels()),
          rows_(rows),
          b_(static_cast<std::size_t>(options.members * rows.pixels())),
          x_(b_.size()) {}

    /// x becomes A^-1 x, or A'^-1 x, on unknowns.
    void operator()(std::span<double> x, bool transposed) {
        for (std::int64_t k = 0; k < rows_.pixels(); ++k)
            b_[at(k)] = rows_.is_unknown(k) ? static_cast<Real>(x[static_cast<std::size_t>(k)]) : Real(0);
        if (transposed && solver_.plan().spec().matrix == GridMatrix::general)
            solver_.solve_transposed(std::span<const Real>(b_), std::span<Real>(x_), options_);
        else
            solver_.solve(std::span<const Real>(b_), std::span<Real>(x_), options_);
        for (std::int64_t k = 0; k < rows_.pixels(); ++k)
            x[static_cast<std::size_t>(k)] = rows_.is_unknown(k) ? static_cast<double>(x_[at(k)]) : 0;
    }

  private:
    std::size_t at(std::int64_t pixel) const { return static_cast<std::size_t>(first_ + pixel); }

    GridSolver& solver_;
    GridOptions options_;
    std::int64_t first_;
    const GridRows<Real>& rows_;
    std::vector<Real> b_, x_;
};

void multiply(std::span<double> x, const std::vector<double>& by, bool inverse) {
    for (std::size_t k = 0; k < x.size(); ++k) x[k] = inverse ? x[k] / by[k] : x[k] * by[k];
}

/// Of R A, rows of equal size, in the infinity norm, which is the 1-norm of its transpose; of a symmetric matrix that of R A R.
template <class Real>
double condition_of(const GridRows<Real>& rows, bool symmetric, OneImage<Real>& image) {
    const auto scales = rows.scales();
    double norm = 0;
    for (std::int64_t row = 0; row < rows.pixels(); ++row) {
        double sum = 0;
        rows.each(row, [&](std::int64_t column, double entry) {
            sum += std::abs(entry) * scales[static_cast<std::size_t>(row)] * (symmetric ? scales[static_cast<std::size_t>(column)] : 1);
        });
        norm = std::max(norm, sum);
    }
    if (!(norm > 0) || !std::isfinite(norm)) return 0;
    // (R A)^-1 = A^-1 R^-1, and its transpose is R^-1 A'^-1.
    const auto solve = [&](std::span<double> x) {
        multiply(x, scales, true);
        image(x, false);
        if (symmetric) multiply(x, scales, true);
    };
    const auto solve_transposed = [&](std::span<double> x) {
        if (symmetric) multiply(x, scales, true);
        image(x, true);
        multiply(x, scales, true);
    };
    const double inverse = inverse_norm_estimate(rows.pixels(), solve_transposed, solve);
    return std::isfinite(inverse) && inverse > 0 ? 1 / (norm * inverse) : 0;
}

}  // namespace

template <class Real>
std::vector<double> GridSolver::reciprocal_condition(std::span<const Real> stencil, const GridOptions& options) {
    auto& self = impl();
    const auto& spec = plan().spec();
    const auto resolved = self.resolve(GridOperation::solve, options);
    if (spec.matrix == GridMatrix::general) self.resolve(GridOperation::solve_transposed, options);
    self.check_precision(std::is_same_v<Real, float> ? Precision::f32 : Precision::f64);
    const auto each = 9 * spec.width * spec.height;
    self.check(
        std::array{GridArray{GridRole::stencil, "the stencil", GridUse::reads, const_cast<void*>(static_cast<const void*>(stencil.data())),
                             9, static_cast<std::int64_t>(stencil.size())}},
        resolved);
    std::vector<double> result;
    for (std::int64_t member = 0; member < resolved.members; ++member) {
        const GridRows<Real> rows(spec, stencil.data() + member * each);
        OneImage<Real> image(*this, resolved, member, rows);
        result.push_back(condition_of(rows, spec.matrix == GridMatrix::symmetric, image));
    }
    return result;
}

template std::vector<double> GridSolver::reciprocal_condition(std::span<const float>, const GridOptions&);
template std::vector<double> GridSolver::reciprocal_condition(std::span<const double>, const GridOptions&);

}  // namespace trifold
