#include <algorithm>
#include <cmath>
#include <limits>
#include <trifold/error.hpp>

#include "generator/grid/layout.hpp"
#include "runtime/grid/rows.hpp"
#include "runtime/grid/solver_impl.hpp"

namespace trifold {
namespace {

/// A b that has a part in every direction: the sizes of unknowns' rows, with signs at random.
template <class Real>
void fill_probe(const GridRows<Real>& rows, std::span<Real> b) {
    const auto scales = rows.scales();
    std::uint32_t state = 1;
    for (std::int64_t row = 0; row < rows.pixels(); ++row) {
        state = state * 1664525U + 1013904223U;  // Numerical Recipes
        const double sign = (state >> 31) != 0 ? -1 : 1;
        const bool unknown = rows.is_unknown(row);
        b[static_cast<std::size_t>(row)] = unknown ? static_cast<Real>(sign / scales[static_cast<std::size_t>(row)]) : Real(0);
    }
}

template <class Real>
void take_product(const GridRows<Real>& rows, std::span<const Real> x, std::span<Real> b) {
    for (std::int64_t row = 0; row < rows.pixels(); ++row) {
        auto sum = static_cast<double>(b[static_cast<std::size_t>(row)]);
        rows.each(row, [&](std::int64_t column, double entry) { sum -= entry * static_cast<double>(x[static_cast<std::size_t>(column)]); });
        b[static_cast<std::size_t>(row)] = static_cast<Real>(sum);
    }
}

/// By how much more than b the terms of A x are, at most, where b is fill_probe's: times rounding, what rounding A alone changes of A x.
template <class Real>
double amplification_of(const GridRows<Real>& rows, std::span<const Real> x) {
    const auto scales = rows.scales();
    double largest = 0;
    for (std::int64_t row = 0; row < rows.pixels(); ++row) {
        double sum = 0;
        rows.each(row, [&](std::int64_t column, double entry) {
            sum += std::abs(entry * static_cast<double>(x[static_cast<std::size_t>(column)]));
        });
        sum *= scales[static_cast<std::size_t>(row)];
        if (!(sum <= largest)) largest = sum;
    }
    return largest;
}

template <class Real>
double largest_of(std::span<const Real> x) {
    double largest = 0;
    for (const auto value : x) {
        const auto size = std::abs(static_cast<double>(value));
        if (!(size <= largest)) largest = size;
    }
    return largest;
}

}  // namespace

template <class Real>
void GridSolver::Impl::verify_near_singular(Session::Call& call, const Real* stencil, Real* x, const GridOptions& options) {
    const auto& spec = plan.spec();
    const auto limits = grid::limits_of(spec);
    if (limits.doubtful_pivot == 0 || options.accept_nearly_singular) return;
    const auto members = options.members, pixels = spec.width * spec.height;
    std::vector<std::int64_t> doubtful;
    const auto all = statuses(call);
    for (std::int64_t k = 0; k < members; ++k)
        if (const auto& record = all[static_cast<std::size_t>(k)].record;
            record.problem == trifold_grid_sound && record.least < limits.doubtful_pivot)
            doubtful.push_back(k);
    if (doubtful.empty()) return;
    std::vector<Real> b(static_cast<std::size_t>(members * pixels)), first(b.size()), second(b.size());
    const auto of = [&](auto& values, std::int64_t member) {
        return std::span(values).subspan(static_cast<std::size_t>(member * pixels), static_cast<std::size_t>(pixels));
    };
    const auto rows_of = [&](std::int64_t member) { return GridRows<Real>(spec, stencil + member * pixels * 9); };
    const GridOptions one{.columns = 1, .members = members};
    for (const auto k : doubtful) fill_probe<Real>(rows_of(k), of(b, k));
    solve_again(call, stencil, b.data(), first.data(), one);
    for (const auto k : doubtful) take_product<Real>(rows_of(k), of(first, k), of(b, k));
    solve_again(call, stencil, b.data(), second.data(), one);
    constexpr double most = 0.25;
    for (const auto k : doubtful) {
        const bool converges = largest_of<Real>(of(second, k)) <= most * largest_of<Real>(of(first, k));
        const double amplification = amplification_of<Real>(rows_of(k), of(first, k));
        if (converges && amplification * std::numeric_limits<Real>::epsilon() <= most) continue;
        mark(call, k, trifold_grid_nearly);
        const auto each = pixels * options.columns;
        if (x != nullptr) std::fill_n(x + k * each, each, std::numeric_limits<Real>::quiet_NaN());
    }
}

template void GridSolver::Impl::verify_near_singular(Session::Call&, const float*, float*, const GridOptions&);
template void GridSolver::Impl::verify_near_singular(Session::Call&, const double*, double*, const GridOptions&);

void GridSolver::Impl::mark(Session::Call& call, std::int64_t member, trifold_grid_problem problem) {
    auto status = statuses(call)[static_cast<std::size_t>(member)];
    status.record.problem = problem;
    call.write("status", member * static_cast<std::int64_t>(sizeof status), std::as_bytes(std::span(&status, 1)));
}

void GridSolver::Impl::solve_again(Session::Call& call, const void* stencil, const void* b, void* x, const GridOptions& options) {
    const bool with_factors = plan.program().operations.contains("solve");
    const auto any = [&](const void* data) { return AnyArray(data, true, plan.spec().precision); };
    const auto array = [&](GridOperation operation, std::size_t k, const void* data) {
        return table.array(static_cast<std::size_t>(operation), k, any(data), {options.members, options.columns});
    };
    const std::array all{array(GridOperation::solve, 0, b), array(GridOperation::solve, 1, x), array(GridOperation::factor, 0, stencil)};
    call.bind_host(std::span(all).first(with_factors ? 2 : 3));
    auto args = args_of(call.at(0), call.at(1), options, 0);
    args.step = 1;
    if (!with_factors) args.stencil = call.at(2);
    run(call, with_factors ? "solve" : "factor_solve", args);
    call.finish();
}

}  // namespace trifold
