// Refinement of solutions over ranks: residuals in f64, corrections with the factors at hand.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "runtime/session/agree.hpp"
#include "runtime/tridiagonal/ranks/solver.hpp"

namespace trifold {
namespace {

constexpr std::int64_t max_corrections = 10;

/// A row is solved when its error is at most this: docs/users/targets.md has the reason.
double error_bound(std::int64_t n, Precision precision) {
    const double rounding = precision == Precision::f32 ? 0x1p-24 : 0x1p-53;
    return rounding * (4 + 1.5 * std::sqrt(3.0 * static_cast<double>(n)));
}

/// Keeps NaN.
void raise(double& worst, double value) {
    if (!(value <= worst) && worst == worst) worst = value;
}

/// A system's rows on this rank: b - A x, and |A| |x| + |b|.
struct Rows {
    std::vector<double> left, size;
    void subtract(std::size_t row, double a, double x) {
        left[row] -= a * x;
        size[row] += std::abs(a * x);
    }
};

/// Residuals of a rank's own rows, whose neighbours' parts come in two messages a rank.
template <class Real>
class Residuals {
  public:
    Residuals(const Spec& shard, const Spec& path, Transport& transport, std::span<const AnyArray> arrays, const RankOptions& options,
              std::int64_t columns)
        : shard_(shard),
          transport_(transport),
          d_(as_real(arrays[0])),
          e_(as_real(arrays[1])),
          b_(as_real(arrays[2])),
          x_(as_real(arrays[3])),
          diagonal_(options.diagonal ? as_real(*options.diagonal) : nullptr),
          shift_(options.shift ? as_real(*options.shift) : nullptr),
          d_strides_(diagonal_strides(shard)),
          e_strides_(coupling_strides(path)),
          b_strides_(rhs_strides(shard, columns)),
          columns_(columns),
          has_next_(path.horizon > shard.horizon) {}

    /// For each member and column.
    std::vector<Rows> compute(std::int64_t members) {
        std::vector<Rows> all;
        for (std::int64_t m = 0; m < members; ++m)
            for (std::int64_t c = 0; c < columns_; ++c) all.push_back(own_rows(m, c));
        add_neighbours(all);
        return all;
    }

  private:
    static const Real* as_real(const AnyArray& array) { return static_cast<const Real*>(array.data); }
    static double element(const Real* from, const Strides& s, std::int64_t member, std::int64_t block, std::int64_t r, std::int64_t c) {
        return static_cast<double>(from[member * s.member + block * s.stage + r * s.row + c * s.column]);
    }
    double x(std::int64_t m, std::int64_t block, std::int64_t r, std::int64_t c) const { return element(x_, b_strides_, m, block, r, c); }
    double of_diagonal(std::int64_t m, std::int64_t block, std::int64_t r, std::int64_t c) const {
        double value = element(d_, d_strides_, m, block, std::max(r, c), std::min(r, c));
        if (r == c && diagonal_ != nullptr) value += static_cast<double>(diagonal_[(m * shard_.horizon + block) * shard_.block + r]);
        if (r == c && shift_ != nullptr) value += static_cast<double>(shift_[m]);
        return value;
    }

    Rows own_rows(std::int64_t m, std::int64_t c) const {
        const auto n = shard_.block, blocks = shard_.horizon;
        Rows rows;
        for (std::int64_t i = 0; i < blocks; ++i)
            for (std::int64_t r = 0; r < n; ++r) {
                rows.left.push_back(element(b_, b_strides_, m, i, r, c));
                rows.size.push_back(std::abs(rows.left.back()));
                for (std::int64_t k = 0; k < n; ++k) rows.subtract(rows.left.size() - 1, of_diagonal(m, i, r, k), x(m, i, k, c));
            }
        for (std::int64_t i = 0; i + 1 < blocks; ++i)
            for (std::int64_t r = 0; r < n; ++r)
                for (std::int64_t k = 0; k < n; ++k) {
                    const double a = element(e_, e_strides_, m, i, r, k);
                    rows.subtract(static_cast<std::size_t>((i + 1) * n + r), a, x(m, i, k, c));
                    rows.subtract(static_cast<std::size_t>(i * n + k), a, x(m, i + 1, r, c));
                }
        return rows;
    }

    /// The last E couples this rank's last block to the next rank's first one. Down goes what it adds there, up goes x of the first block.
    void add_neighbours(std::vector<Rows>& all) {
        const auto n = static_cast<std::size_t>(shard_.block);
        std::vector<double> down(all.size() * 2 * n), up(all.size() * n);
        // Sending may wait for the receiver, so one of two neighbours sends first.
        if (transport_.rank() % 2 == 0 && has_next_) exchange_with_next(all, down, up);
        if (transport_.rank() > 0) {
            transport_.receive(transport_.rank() - 1, down.data(), bytes_of(down));
            for (std::size_t k = 0; k < all.size(); ++k)
                for (std::size_t r = 0; r < n; ++r) {
                    all[k].left[r] -= down[2 * k * n + r];
                    all[k].size[r] += down[(2 * k + 1) * n + r];
                    up[k * n + r] = x_of(k, 0, r);
                }
            transport_.send(transport_.rank() - 1, up.data(), bytes_of(up));
        }
        if (transport_.rank() % 2 == 1 && has_next_) exchange_with_next(all, down, up);
    }
    void exchange_with_next(std::vector<Rows>& all, std::vector<double>& down, std::vector<double>& up) {
        const auto n = static_cast<std::size_t>(shard_.block);
        const auto last = shard_.horizon - 1;
        std::ranges::fill(down, 0);
        for (std::size_t k = 0; k < all.size(); ++k)
            for (std::size_t r = 0; r < n; ++r)
                for (std::size_t c = 0; c < n; ++c) {
                    const double part = coupling_of(k, r, c) * x_of(k, last, c);
                    down[2 * k * n + r] += part;
                    down[(2 * k + 1) * n + r] += std::abs(part);
                }
        transport_.send(transport_.rank() + 1, down.data(), bytes_of(down));
        transport_.receive(transport_.rank() + 1, up.data(), bytes_of(up));
        for (std::size_t k = 0; k < all.size(); ++k)
            for (std::size_t r = 0; r < n; ++r)
                for (std::size_t c = 0; c < n; ++c)
                    all[k].subtract(static_cast<std::size_t>(last) * n + c, coupling_of(k, r, c), up[k * n + r]);
    }
    double x_of(std::size_t system, std::int64_t block, std::size_t row) const {
        const auto k = static_cast<std::int64_t>(system);
        return x(k / columns_, block, static_cast<std::int64_t>(row), k % columns_);
    }
    double coupling_of(std::size_t system, std::size_t row, std::size_t column) const {
        return element(e_, e_strides_, static_cast<std::int64_t>(system) / columns_, shard_.horizon - 1, static_cast<std::int64_t>(row),
                       static_cast<std::int64_t>(column));
    }
    static std::int64_t bytes_of(const std::vector<double>& values) { return static_cast<std::int64_t>(values.size() * sizeof(double)); }

    const Spec& shard_;
    Transport& transport_;
    const Real *d_, *e_, *b_, *x_, *diagonal_, *shift_;
    Strides d_strides_, e_strides_, b_strides_;
    std::int64_t columns_;
    bool has_next_;
};

/// The largest error of each member, on all ranks.
std::vector<double> worst_errors(const std::vector<Rows>& all, std::int64_t members, Transport& transport) {
    const auto count = static_cast<std::size_t>(members), columns = all.size() / count;
    std::vector<double> worst(count, 0), other(count);
    for (std::size_t k = 0; k < all.size(); ++k)
        for (std::size_t row = 0; row < all[k].left.size(); ++row) {
            const double left = std::abs(all[k].left[row]);
            raise(worst[k / columns], left == 0 ? 0 : left / all[k].size[row]);
        }
    const auto of_all = ranks::gather(transport, std::as_bytes(std::span(worst)));
    for (std::size_t rank = 0; rank < static_cast<std::size_t>(transport.ranks()); ++rank) {
        std::memcpy(other.data(), of_all.data() + rank * count * sizeof(double), count * sizeof(double));
        for (std::size_t m = 0; m < count; ++m) raise(worst[m], other[m]);
    }
    return worst;
}

/// Decides which members go on after a number of corrections, and how the others have ended.
void judge(std::vector<Refinement>& results, std::vector<int>& runs, const std::vector<double>& errors, std::int64_t round, double bound) {
    for (std::size_t m = 0; m < results.size(); ++m) {
        if (runs[m] == 0) continue;
        auto& result = results[m];
        const double before = std::exchange(result.backward_error, errors[m]);
        result.iterations = round;
        result.converged = errors[m] <= bound;
        const bool halves = round == 0 || errors[m] <= before / 2;
        runs[m] = !result.converged && halves && round < max_corrections && std::isfinite(errors[m]) ? 1 : 0;
    }
}

/// to += a correction for what is left, computed in Inner.
template <class Real, class Inner>
void correct(RankSolver::Impl& impl, const Spec& shard, const std::vector<Rows>& all, Real* to, const std::vector<int>& runs,
             std::int64_t columns) {
    const auto members = static_cast<std::int64_t>(runs.size()), n = shard.block;
    const auto strides = rhs_strides(shard, columns);
    std::vector<Inner> left(static_cast<std::size_t>(rhs_extent(shard, members, columns))), change(left.size());
    const auto each = [&](const auto& work) {
        for (std::int64_t m = 0; m < members; ++m)
            for (std::int64_t c = 0; c < columns && runs[static_cast<std::size_t>(m)] != 0; ++c)
                for (std::int64_t row = 0; row < shard.horizon * n; ++row)
                    work(static_cast<std::size_t>(m * columns + c), static_cast<std::size_t>(row),
                         static_cast<std::size_t>(m * strides.member + row / n * strides.stage + row % n * strides.row +
                                                  c * strides.column));
    };
    each([&](std::size_t system, std::size_t row, std::size_t place) { left[place] = static_cast<Inner>(all[system].left[row]); });
    const std::array<AnyArray, 2> arrays{left, change};
    impl.run(Operation::solve, arrays, {.active = runs.data(), .members = members, .columns = columns});
    each([&](std::size_t, std::size_t, std::size_t place) { to[place] += static_cast<Real>(change[place]); });
}

}  // namespace

template <class Real>
std::vector<Refinement> RankSolver::Impl::refine(std::span<const AnyArray> arrays, const RankOptions& options) {
    require_factor("refine");
    const auto members = options.members > 0 ? options.members : shard_.batch;
    const auto columns = options.columns > 0 ? options.columns : shard_.rhs;
    auto& transport = plan.state()->prepared->transport->hosts();
    Residuals<Real> residuals(shard_, path_, transport, arrays, options, columns);
    const double bound = error_bound(shard_.block, AnyArray::precision_of<Real>);
    std::vector<Refinement> results(static_cast<std::size_t>(members));
    std::vector<int> runs(results.size(), 1);
    if (options.active != nullptr) std::copy_n(options.active, members, runs.begin());
    for (std::size_t m = 0; m < runs.size(); ++m)
        if (runs[m] == 0) results[m].iterations = -1;
    auto* x = static_cast<Real*>(const_cast<void*>(arrays[3].data));
    for (std::int64_t round = 0;; ++round) {
        const auto all = residuals.compute(members);
        judge(results, runs, worst_errors(all, members, transport), round, bound);
        if (std::ranges::all_of(runs, [](int run) { return run == 0; })) return results;
        if (shard_.precision == Precision::f32)
            correct<Real, float>(*this, shard_, all, x, runs, columns);
        else
            correct<Real, double>(*this, shard_, all, x, runs, columns);
    }
}

template <class Real>
std::vector<Refinement> RankSolver::Impl::refine_on_device(std::span<const AnyArray> arrays, const RankOptions& options) {
    require_factor("refine");
    const auto members = options.members > 0 ? options.members : shard_.batch;
    const auto sweep = rhs_extent(shard_, members, options.columns > 0 ? options.columns : shard_.rhs);
    const std::array extents{diagonal_extent(shard_, members), coupling_extent(path_, members), sweep, sweep};
    std::array<std::vector<Real>, 4> copies;
    std::vector<Real> diagonal, shift;
    auto on_host = options;
    std::vector<int> active;
    {
        Session::Call call(session);
        const auto fetch = [&](auto& to, const void* from, std::int64_t count) {
            to.resize(static_cast<std::size_t>(count));
            if (count > 0) call.fetch(std::as_writable_bytes(std::span(to)), from);
        };
        for (std::size_t k = 0; k < copies.size(); ++k) fetch(copies[k], arrays[k].data, extents[k]);
        if (options.diagonal) fetch(diagonal, options.diagonal->data, members * shard_.horizon * shard_.block);
        if (options.shift) fetch(shift, options.shift->data, members);
        if (options.active != nullptr) fetch(active, options.active, members);
    }
    if (options.diagonal) on_host.diagonal = diagonal;
    if (options.shift) on_host.shift = shift;
    if (options.active != nullptr) on_host.active = active.data();
    const auto results = refine<Real>(std::array<AnyArray, 4>{copies[0], copies[1], copies[2], copies[3]}, on_host);
    Session::Call(session).store(const_cast<void*>(arrays[3].data), std::as_bytes(std::span(copies[3])));
    return results;
}

std::vector<Refinement> RankSolver::refine_arrays(std::initializer_list<AnyArray> arrays, const RankOptions& options) {
    const std::span given(arrays.begin(), arrays.size());
    const auto precision = given.front().precision;
    const auto& spec = plan().spec();
    const bool has_e = spec.blocks() > 1 || spec.rank + 1 < spec.ranks();
    for (std::size_t k = 0; k < given.size(); ++k)
        if (given[k].precision != precision || (given[k].data == nullptr && (k != 1 || has_e)))
            throw SpecError("refine takes D, E, B and X in one precision, and none of them is a null pointer");
    const bool wide = precision == Precision::f64;
    if (!wide && plan().spec().spec.precision == Precision::f64)
        throw SpecError("refine takes arrays in f64, as this RankPlan is; a RankPlan in f32 takes both");
    const bool on_host = !impl().on_gpu() || std::ranges::all_of(given, &AnyArray::on_host);
    if (!on_host && std::ranges::any_of(given, &AnyArray::on_host))
        throw SpecError("some arrays of refine are in the host's memory and some in the device's; give all in one of them");
    if (on_host) return wide ? impl().refine<double>(given, options) : impl().refine<float>(given, options);
    return wide ? impl().refine_on_device<double>(given, options) : impl().refine_on_device<float>(given, options);
}

}  // namespace trifold
