#include "runtime/base/condition.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace trifold {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

/// The sum of sizes; infinite where one is no number.
double norm_of(std::span<const double> x) {
    double sum = 0;
    for (const auto value : x) sum += std::abs(value);
    return std::isfinite(sum) ? sum : infinite;
}

std::size_t largest_of(std::span<const double> x) {
    const auto smaller = [](double a, double b) { return std::abs(a) < std::abs(b); };
    return static_cast<std::size_t>(std::ranges::max_element(x, smaller) - x.begin());
}

/// The estimate of one of the systems, whose vector is a part of the one that is solved for.
class Estimate {
  public:
    explicit Estimate(std::span<double> x) : x_(x) { std::ranges::fill(x_, 1 / static_cast<double>(x_.size())); }
    double value() const { return value_; }
    bool goes_on() const { return goes_on_; }

    /// Takes A^-1 times the vector, and leaves the signs of its entries. It ends where these, or the norm, no longer change.
    void take_norm() {
        const auto found = norm_of(x_);
        goes_on_ = goes_on_ && found > value_ && found < infinite && x_.size() > 1;
        value_ = std::max(value_, found);
        for (auto& value : x_) value = std::signbit(value) ? -1 : 1;
        if (goes_on_ && std::ranges::equal(x_, signs_)) goes_on_ = false;
        signs_.assign(x_.begin(), x_.end());
    }
    /// Takes A'^-1 times the signs, and leaves the unit vector of its largest entry. It ends where that was the last one.
    void take_column() {
        const auto next = largest_of(x_);
        if (goes_on_ && column_ < x_.size() && std::abs(x_[next]) == std::abs(x_[column_])) goes_on_ = false;
        column_ = next;
        std::ranges::fill(x_, 0.0);
        x_[column_] = 1;
    }
    /// A last try: sizes that grow from entry to entry, with alternating signs. It finds what cancels in all columns that were tried.
    void alternate() {
        const auto n = static_cast<double>(x_.size());
        for (std::size_t k = 0; k < x_.size(); ++k) x_[k] = (k % 2 == 0 ? 1 : -1) * (1 + static_cast<double>(k) / std::max(n - 1, 1.0));
    }
    void take_alternate() { value_ = std::max(value_, 2 * norm_of(x_) / (3 * static_cast<double>(x_.size()))); }

  private:
    std::span<double> x_;
    std::vector<double> signs_;
    double value_ = 0;
    std::size_t column_ = static_cast<std::size_t>(-1);  // none yet
    bool goes_on_ = true;
};

}  // namespace

std::vector<double> inverse_norm_estimates(std::int64_t n, std::int64_t systems, const Applied& solve, const Applied& solve_transposed) {
    if (n <= 0 || systems <= 0) return std::vector<double>(static_cast<std::size_t>(std::max<std::int64_t>(systems, 0)), 0.0);
    const auto size = static_cast<std::size_t>(n);
    std::vector<double> x(size * static_cast<std::size_t>(systems));
    std::vector<Estimate> all;
    for (std::size_t k = 0; k < x.size(); k += size) all.emplace_back(std::span(x).subspan(k, size));
    constexpr int max_steps = 6;
    for (int step = 0; step < max_steps && std::ranges::any_of(all, &Estimate::goes_on); ++step) {
        solve(x);
        for (auto& one : all) one.take_norm();
        if (std::ranges::none_of(all, &Estimate::goes_on)) break;
        solve_transposed(x);
        for (auto& one : all) one.take_column();
    }
    for (auto& one : all) one.alternate();
    solve(x);
    std::vector<double> estimates;
    for (auto& one : all) {
        one.take_alternate();
        estimates.push_back(one.value());
    }
    return estimates;
}

double inverse_norm_estimate(std::int64_t n, const Applied& solve, const Applied& solve_transposed) {
    return inverse_norm_estimates(n, 1, solve, solve_transposed).front();
}

}  // namespace trifold
