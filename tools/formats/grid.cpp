#include "tools/formats/grid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tools/formats/file.hpp"

namespace trifold::formats {
namespace {

constexpr std::int64_t entries = 9, middle = 4;

/// A pixel's neighbour k, and whether it lies within the image.
struct Neighbour {
    Neighbour(const GridSystem& system, std::int64_t pixel, std::int64_t k)
        : x(pixel % system.width + k % 3 - 1),
          y(pixel / system.width + k / 3 - 1),
          inside(x >= 0 && y >= 0 && x < system.width && y < system.height),
          pixel(y * system.width + x) {}
    std::int64_t x, y;
    bool inside;
    std::int64_t pixel;
};

bool is_ring(const GridSystem& system, std::int64_t pixel) {
    const auto x = pixel % system.width, y = pixel / system.width;
    return x == 0 || y == 0 || x == system.width - 1 || y == system.height - 1;
}

/// What an image's row `pixel` of A has at neighbour k, as the Spec means it.
double entry(const GridSystem& system, const GridSpec& spec, const double* stencils, std::int64_t pixel, std::int64_t k) {
    const Neighbour to(system, pixel, k);
    const bool fixed = spec.ring() > 0;
    if (fixed && is_ring(system, pixel)) return k == middle ? 1 : 0;
    const bool mirrored = spec.matrix == GridMatrix::symmetric && k > middle && !(fixed && is_ring(system, to.pixel));
    return mirrored ? stencils[to.pixel * entries + entries - 1 - k] : stencils[pixel * entries + k];
}

/// Whether entry k of the pixel's stencil is a part of A. Those that reach beyond an image without a ring have to be zero.
bool is_read(const GridSystem& system, const GridSpec& spec, std::int64_t pixel, std::int64_t k) {
    const bool fixed = spec.ring() > 0;
    if (fixed && is_ring(system, pixel)) return false;
    if (spec.matrix == GridMatrix::general || k <= middle) return true;
    return fixed && is_ring(system, Neighbour(system, pixel, k).pixel);
}

}  // namespace

std::optional<std::int64_t> infer_width(const SparseMatrix& a) {
    std::int64_t reach = 0;
    for (const auto& [row, column, value] : a.entries)
        if (value != 0) reach = std::max(reach, std::abs(row - column));
    // The furthest neighbour is the one below, or one to its left or right.
    for (auto width = std::max<std::int64_t>(reach - 1, 2); width <= reach + 1; ++width) {
        if (a.rows % width != 0) continue;
        const auto is_near = [&](const Entry& entry) {
            const auto across = entry.row % width - entry.column % width, down = entry.row / width - entry.column / width;
            return entry.value == 0 || (std::abs(across) <= 1 && std::abs(down) <= 1);
        };
        if (std::ranges::all_of(a.entries, is_near)) return width;
    }
    return std::nullopt;
}

GridSystem assemble(const SparseMatrix& a, const DenseMatrix& b, std::int64_t width, std::int64_t height) {
    const auto pixels = checked_multiply(width, height, "pixels of the image");
    if (a.rows != pixels || a.columns != pixels)
        throw InputError(fmt::format("A is {} by {}, and an image of {}x{} has {} pixels", a.rows, a.columns, width, height, pixels));
    if (b.rows != pixels)
        throw InputError(fmt::format("b has {} rows, and an image of {}x{} has {} pixels", b.rows, width, height, pixels));
    GridSystem system{width, height, b.columns, 1, std::vector<double>(static_cast<std::size_t>(pixels * entries)), b.values};
    std::vector<bool> seen(system.stencil.size());
    const auto step = [&](std::int64_t row, std::int64_t column) {
        return std::pair(column % width - row % width, column / width - row / width);
    };
    const auto put = [&](std::int64_t row, std::int64_t column, double value) {
        const auto [dx, dy] = step(row, column);
        if (std::abs(dx) > 1 || std::abs(dy) > 1)
            throw InputError(
                fmt::format("entry ({}, {}) of A (from 1) couples pixel ({}, {}) with ({}, {}), which are no neighbours on an image of "
                            "{}x{}; give the image's size as --grid WIDTHxHEIGHT, or solve without --grid",
                            row + 1, column + 1, row % width, row / width, column % width, column / width, width, height));
        const auto place = static_cast<std::size_t>(row * entries + (dy + 1) * 3 + dx + 1);
        if (seen[place]) throw InputError(fmt::format("entry ({}, {}) of A (from 1) is there twice", row + 1, column + 1));
        seen[place] = true;
        system.stencil[place] = value;
    };
    std::int64_t zeros = 0;
    for (const auto& [row, column, value] : a.entries) {
        const auto [dx, dy] = step(row, column);
        if (value == 0 && (std::abs(dx) > 1 || std::abs(dy) > 1)) {
            ++zeros;
            continue;
        }
        put(row, column, value);
        if (a.symmetric && row != column) put(column, row, value);
    }
    if (zeros > 0) system.notes.push_back(fmt::format("zeros of A between pixels that are no neighbours do not count: {}", zeros));
    return system;
}

GridSystem assemble_grid(const Array& a, const Array& b) {
    constexpr std::size_t image = 3, batched = 4;
    const auto axes = a.shape.size();
    if ((axes != image && axes != batched) || a.shape.back() != entries)
        throw InputError(fmt::format("A has shape {}; stencils have (H, W, 9), or (B, H, W, 9)", shape_text(a.shape)));
    GridSystem system{a.shape[axes - 2], a.shape[axes - 3], 1, axes == batched ? a.shape[0] : 1, a.values, b.values};
    const std::vector<std::int64_t> pixels(a.shape.begin(), a.shape.end() - 1);
    auto expected = pixels;
    if (b.shape.size() == axes) {
        system.rhs = b.shape.back();
        expected.push_back(system.rhs);
    }
    if (b.shape != expected || system.rhs < 1)
        throw InputError(fmt::format("b has shape {}; with A of shape {} it must be {}, or that with a last axis of right-hand sides",
                                     shape_text(b.shape), shape_text(a.shape), shape_text(pixels)));
    return system;
}

void check_finite(const GridSystem& system, const GridSpec& spec) {
    const double largest = spec.precision == Precision::f32 ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
    for (const auto* values : {&system.stencil, &system.b})
        for (std::size_t k = 0; k < values->size(); ++k) {
            if (std::abs((*values)[k]) <= largest) continue;
            const bool of_b = values == &system.b;
            const auto each = of_b ? system.rhs : entries, at = static_cast<std::int64_t>(k);
            const auto pixel = at / each % (system.width * system.height);
            if (!of_b && !is_read(system, spec, pixel, at % entries)) continue;
            throw InputError(fmt::format("{} holds {} at pixel ({}, {}), which is no number of {}", of_b ? "b" : "A", (*values)[k],
                                         pixel % system.width, pixel / system.width, to_string(spec.precision)));
        }
}

void for_each_entry(const GridSystem& system, const GridSpec& spec, std::int64_t image,
                    const std::function<void(std::int64_t, std::int64_t, double)>& visit) {
    const auto pixels = system.width * system.height;
    for (std::int64_t pixel = 0; pixel < pixels; ++pixel)
        for (std::int64_t k = 0; k < entries; ++k)
            if (const Neighbour to(system, pixel, k); to.inside)
                visit(pixel, to.pixel, entry(system, spec, system.stencil.data() + image * pixels * entries, pixel, k));
}

SparseMatrix to_sparse(const GridSystem& system) {
    const auto pixels = system.width * system.height;
    SparseMatrix a{pixels, pixels, false, {}};
    for_each_entry(system, {}, 0, [&](std::int64_t row, std::int64_t column, double value) {
        if (value != 0) a.entries.push_back({row, column, value});
    });
    return a;
}

}  // namespace trifold::formats
