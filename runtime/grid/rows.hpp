#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <trifold/grid_spec.hpp>
#include <vector>

namespace trifold {

/// The rows of A that belong to the unknowns of one image, whose stencils stand in the host's memory. A ring of data counts as zero.
template <class Real>
class GridRows {
  public:
    GridRows(const GridSpec& spec, const Real* stencil) : spec_(spec), stencil_(stencil), ring_(spec.ring()) {}

    std::int64_t pixels() const { return spec_.width * spec_.height; }
    bool is_unknown(std::int64_t x, std::int64_t y) const {
        return x >= ring_ && y >= ring_ && x < spec_.width - ring_ && y < spec_.height - ring_;
    }
    bool is_unknown(std::int64_t pixel) const { return is_unknown(pixel % spec_.width, pixel / spec_.width); }
    /// work(column, entry) for each entry of an unknown's row.
    template <class Work>
    void each(std::int64_t row, Work work) const {
        constexpr std::int64_t middle = 4;
        const auto x = row % spec_.width, y = row / spec_.width;
        for (std::int64_t k = 0; k < entries; ++k) {
            const auto to_x = x + k % 3 - 1, to_y = y + k / 3 - 1;
            if (!is_unknown(x, y) || !is_unknown(to_x, to_y)) continue;
            const auto column = to_y * spec_.width + to_x;
            const bool mirrored = spec_.matrix == GridMatrix::symmetric && k > middle;
            work(column, static_cast<double>(mirrored ? stencil_[column * entries + entries - 1 - k] : stencil_[row * entries + k]));
        }
    }
    double largest_entry(std::int64_t row) const {
        double largest = 0;
        each(row, [&](std::int64_t, double entry) { largest = std::max(largest, std::abs(entry)); });
        return largest;
    }
    /// Powers of two that bring rows to one size; of a symmetric matrix rows and columns, by its diagonal. Rows of zeros have 1.
    std::vector<double> scales() const {
        std::vector<double> result(static_cast<std::size_t>(pixels()), 1.0);
        for (std::int64_t row = 0; row < pixels(); ++row) {
            const bool symmetric = spec_.matrix == GridMatrix::symmetric;
            const double size = symmetric ? std::sqrt(diagonal(row)) : largest_entry(row);
            int exponent = 0;
            if (!(size > 0) || !std::isfinite(size)) continue;
            std::frexp(size, &exponent);
            result[static_cast<std::size_t>(row)] = std::ldexp(1.0, -exponent);
        }
        return result;
    }
    double diagonal(std::int64_t row) const {
        double result = 0;
        each(row, [&](std::int64_t column, double entry) {
            if (column == row) result = entry;
        });
        return result;
    }

  private:
    static constexpr std::int64_t entries = 9;
    const GridSpec& spec_;
    const Real* stencil_;
    std::int64_t ring_;
};

}  // namespace trifold
