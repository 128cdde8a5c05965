#include "tools/formats/residual.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace trifold::formats {
namespace {

/// Products of the largest and of the smallest doubles, and squares of those, are in its range.
using Wide = long double;
using Column = std::vector<Wide>;

Column column_of(std::span<const double> all, std::int64_t columns, std::int64_t column) {
    Column result;
    for (auto k = static_cast<std::size_t>(column); k < all.size(); k += static_cast<std::size_t>(columns)) result.push_back(all[k]);
    return result;
}

/// Sums over the entries of a row of A: b - A x, and the magnitudes.
struct RowNorm {
    Wide residual, size = 0;
    void add(double a, Wide x) {
        residual -= a * x;
        size += std::abs(a);
    }
};
/// Likewise, with |A| |x| and the largest entry.
struct RowProducts {
    Wide residual, size = 0, largest = 0;
    void add(double a, Wide x) {
        const auto product = a * x;
        residual -= product;
        size += std::abs(product);
        largest = std::max<Wide>(largest, std::abs(a));
    }
};

/// `walk` calls its argument for each entry of A.
template <class Row>
std::vector<Row> sums_of(const auto& walk, const Column& x, const Column& b) {
    std::vector<Row> rows;
    for (const auto value : b) rows.push_back({value});
    walk([&](std::int64_t row, std::int64_t column, double a) {
        rows[static_cast<std::size_t>(row)].add(a, x[static_cast<std::size_t>(column)]);
    });
    return rows;
}

Wide norm(const Column& values) {
    Wide largest = 0;
    for (const auto value : values) largest = worse(largest, std::abs(value));
    return largest;
}

/// Of all members; `walk` has the member too.
std::vector<double> residuals(std::int64_t members, std::int64_t columns, std::span<const double> all_b, std::span<const double> all_x,
                              const auto& walk) {
    std::vector<double> result;
    const auto each = all_b.size() / static_cast<std::size_t>(members);
    for (std::int64_t member = 0; member < members; ++member) {
        const auto first = static_cast<std::size_t>(member) * each;
        Wide worst = 0;
        for (std::int64_t column = 0; column < columns; ++column) {
            const auto x = column_of(all_x.subspan(first, each), columns, column),
                       b = column_of(all_b.subspan(first, each), columns, column);
            Wide left = 0, of_a = 0;
            for (const auto& row : sums_of<RowNorm>([&](const auto& visit) { walk(member, visit); }, x, b)) {
                left = worse(left, std::abs(row.residual));
                of_a = std::max(of_a, row.size);
            }
            const auto size = of_a * norm(x) + norm(b);
            worst = worse(worst, size == 0 ? left : left / size);
        }
        result.push_back(static_cast<double>(worst));
    }
    return result;
}

}  // namespace

std::vector<double> relative_residuals(const System& system, std::span<const double> x) {
    return residuals(system.batch, system.rhs, system.b, x, [&](std::int64_t member, const auto& visit) {
        for_each_entry(system, member, [&](std::int64_t row, std::int64_t column, double a) {
            visit(row, column, a);
            if (row != column && !system.general) visit(column, row, a);
        });
    });
}

std::vector<double> relative_residuals(const GridSystem& system, const GridSpec& spec, std::span<const double> x) {
    return residuals(system.batch, system.rhs, system.b, x,
                     [&](std::int64_t image, const auto& visit) { for_each_entry(system, spec, image, visit); });
}

double relative_residual(const BlockRows& a, const std::vector<double>& x, const std::vector<double>& b, std::int64_t columns,
                         std::int64_t column) {
    const auto right = column_of(b, columns, column);
    Wide error = 0, size = 0;
    for (const auto value : right) size += value * value;
    for (const auto& row : sums_of<RowNorm>([&](const auto& visit) { for_each_entry(a, visit); }, column_of(x, columns, column), right))
        error += row.residual * row.residual;
    return static_cast<double>(std::sqrt(size > 0 ? error / size : error));
}

BackwardError backward_error(const BlockRows& a, const std::vector<double>& x, const std::vector<double>& b, std::int64_t columns,
                             double rounding) {
    BackwardError error{std::vector<double>(b.size()), 0};
    for (std::int64_t column = 0; column < columns; ++column) {
        const auto own = column_of(x, columns, column), right = column_of(b, columns, column);
        const auto most = norm(own), small = 2000 * Wide{rounding} * static_cast<Wide>(right.size());
        if (!std::isfinite(most)) {
            error.worst = std::numeric_limits<double>::infinity();
            continue;
        }
        const auto rows = sums_of<RowProducts>([&](const auto& visit) { for_each_entry(a, visit); }, own, right);
        for (std::size_t row = 0; row < rows.size(); ++row) {
            const auto usual = rows[row].size + std::abs(right[row]), reach = rows[row].largest * most;
            const auto size = usual > small * (reach + std::abs(right[row])) ? usual : rows[row].size + reach;
            error.residual[row * static_cast<std::size_t>(columns) + static_cast<std::size_t>(column)] =
                static_cast<double>(rows[row].residual);
            if (size > 0) error.worst = std::max(error.worst, static_cast<double>(std::abs(rows[row].residual) / size));
        }
    }
    return error;
}

}  // namespace trifold::formats
