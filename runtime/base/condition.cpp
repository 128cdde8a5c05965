#include "runtime/base/condition.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace trifold {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

/// The sum of sizes; infinite where one is no number.
double norm_of(std::span<const double> x) {
    double sum = 0;
    for (const auto value : x) sum += std::abs(value);
    return std::isfinite(sum) ? sum : infinite;
}

/// Entries become 1 or -1. Whether one has changed since `before`.
bool take_signs(std::vector<double>& x, std::vector<double>& before) {
    for (auto& value : x) value = std::signbit(value) ? -1 : 1;
    const bool changed = x != before;
    before = x;
    return changed;
}

std::size_t largest_of(const std::vector<double>& x) {
    const auto smaller = [](double a, double b) { return std::abs(a) < std::abs(b); };
    return static_cast<std::size_t>(std::ranges::max_element(x, smaller) - x.begin());
}

/// A last try: sizes that grow from entry to entry, with alternating signs. It finds what cancels in all columns that were tried.
double alternating_estimate(std::vector<double>& x, const Applied& solve) {
    const auto n = static_cast<double>(x.size());
    for (std::size_t k = 0; k < x.size(); ++k) x[k] = (k % 2 == 0 ? 1 : -1) * (1 + static_cast<double>(k) / std::max(n - 1, 1.0));
    solve(x);
    return 2 * norm_of(x) / (3 * n);
}

}  // namespace

double inverse_norm_estimate(std::int64_t n, const Applied& solve, const Applied& solve_transposed) {
    if (n <= 0) return 0;
    constexpr int most_steps = 5;
    std::vector<double> x(static_cast<std::size_t>(n), 1 / static_cast<double>(n)), signs;
    solve(x);
    double estimate = norm_of(x);
    if (n == 1 || estimate == infinite) return estimate;
    take_signs(x, signs);
    solve_transposed(x);
    auto column = largest_of(x);
    for (int step = 0; step < most_steps; ++step) {
        std::ranges::fill(x, 0.0);
        x[column] = 1;
        solve(x);
        const auto found = norm_of(x);
        const bool grows = found > estimate;
        estimate = std::max(estimate, found);
        if (estimate == infinite || !take_signs(x, signs) || !grows) break;
        solve_transposed(x);
        const auto next = largest_of(x);
        if (std::abs(x[next]) == std::abs(x[column])) break;
        column = next;
    }
    return std::max(estimate, alternating_estimate(x, solve));
}

}  // namespace trifold
