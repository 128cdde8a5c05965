#include "tools/formats/backward_error.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace trifold::formats {
namespace {

std::size_t at(std::int64_t number) { return static_cast<std::size_t>(number); }

/// Sums over the entries of a row.
struct RowSums {
    long double residual, sizes = 0, largest = 0;
};
RowSums sums_of(const BlockRows& a, std::int64_t row, const std::vector<double>& x, double b, std::int64_t columns, std::int64_t column) {
    RowSums sums{b};
    for (auto k = a.starts[at(row / a.block)]; k < a.starts[at(row / a.block + 1)]; ++k)
        for (std::int64_t j = 0; j < a.block; ++j) {
            const long double entry = a.values[at((k * a.block + row % a.block) * a.block + j)];
            const auto product = entry * x[at((a.columns[at(k)] * a.block + j) * columns + column)];
            sums.residual -= product;
            sums.sizes += std::abs(product);
            sums.largest = std::max(sums.largest, std::abs(entry));
        }
    return sums;
}

}  // namespace

BackwardError backward_error(const BlockRows& a, const std::vector<double>& x, const std::vector<double>& b, std::int64_t columns,
                             double rounding) {
    const auto rows = a.rows() * a.block;
    const auto small = 1000.0L * 2 * rounding * static_cast<long double>(rows);
    BackwardError error{std::vector<double>(b.size()), 0};
    for (std::int64_t column = 0; column < columns; ++column) {
        long double most = 0;
        for (std::int64_t row = 0; row < rows; ++row) {
            const auto value = std::abs(x[at(row * columns + column)]);
            most = std::isfinite(value) ? std::max<long double>(most, value) : std::numeric_limits<long double>::infinity();
        }
        if (!std::isfinite(most)) error.worst = std::numeric_limits<double>::infinity();
        for (std::int64_t row = 0; row < rows && std::isfinite(most); ++row) {
            const auto right = b[at(row * columns + column)];
            const auto sums = sums_of(a, row, x, right, columns, column);
            const auto usual = sums.sizes + std::abs(right), reach = sums.largest * most;
            const auto size = usual > small * (reach + std::abs(right)) ? usual : sums.sizes + reach;
            error.residual[at(row * columns + column)] = static_cast<double>(sums.residual);
            if (size > 0) error.worst = std::max(error.worst, static_cast<double>(std::abs(sums.residual) / size));
        }
    }
    return error;
}

}  // namespace trifold::formats
