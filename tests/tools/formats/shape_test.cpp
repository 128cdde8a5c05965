#include "tools/formats/shape.hpp"

#include "tests/tools/formats/dense.hpp"
#include "tests/tools/formats/expect.hpp"

using namespace trifold;
using namespace trifold::formats;

namespace {

/// A lower triangle with all entries for which `holds` is true of row and column.
SparseMatrix full_where(std::int64_t rows, const auto& holds) {
    SparseMatrix a{rows, rows, true, {}};
    for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t column = 0; column <= row; ++column)
            if (row == column || holds(row, column)) a.entries.push_back({row, column, 1});
    return a;
}
/// Blocks of n, each coupled to the next w, and behind them a border.
SparseMatrix banded(std::int64_t rows, std::int64_t n, std::int64_t w, std::int64_t border) {
    return full_where(rows + border, [=](std::int64_t row, std::int64_t column) { return row >= rows || row / n - column / n <= w; });
}

}  // namespace

TEST_CASE("shape: a border is found, and its flops are those of its blocks") {
    for (const std::int64_t n : {1, 3, 8})
        for (const std::int64_t border : {1, 3, 64})
            for (const std::int64_t horizon : {20, 41}) {
                INFO(n, " ", border, " ", horizon);
                const auto shape = infer_shape(banded(n * horizon, n, 1, border));
                CHECK(shape.block == n);
                CHECK(shape.border == border);
                CHECK(!shape.ring);
                double flops = static_cast<double>(border * border * border) / 3;
                for (std::int64_t k = 0; k < horizon; ++k) {
                    const auto below = static_cast<double>((k + 1 < horizon ? n : 0) + border), size = static_cast<double>(n);
                    flops += size * size * size / 3 + size * size * below + size * below * below;
                }
                CHECK(shape.flops == doctest::Approx(flops).epsilon(1e-12));
                const auto odd = infer_shape(banded(n * horizon - n / 2, n, 1, border));
                CHECK(odd.block == n);
                CHECK(odd.border == border);
            }
    for (const std::int64_t rows : {2, 3, 9, 30, 31}) {
        const auto dense = infer_shape(banded(rows, rows, 0, 0));
        CHECK(dense.border == 0);
        CHECK(!dense.ring);
        CHECK(dense.block == (rows + 1) / 2);
    }
}

TEST_CASE("shape: a ring with a border, but for a ring of three, whose blocks are all coupled") {
    for (const std::int64_t n : {1, 2, 5})
        for (const std::int64_t horizon : {3, 4, 9, 30})
            for (const std::int64_t border : {0, 1, 4}) {
                INFO(n, " ", horizon, " ", border);
                const auto rows = n * horizon;
                const auto shape = infer_shape(full_where(rows + border, [=](std::int64_t row, std::int64_t column) {
                    const auto apart = row / n - column / n;
                    return row >= rows || apart <= 1 || apart == horizon - 1;
                }));
                CHECK(shape.ring == (horizon > 3));
                if (!shape.ring) continue;
                CHECK(shape.block == n);
                CHECK(shape.border == border);
                CHECK(shape.bandwidth == 1);
            }
}

TEST_CASE("shape: a band of smaller blocks is told, and what is full is none") {
    for (const std::int64_t n : {1, 3, 4})
        for (const std::int64_t w : {1, 2, 3, 8})
            for (const std::int64_t border : {0, 2}) {
                INFO(n, " ", w, " ", border);
                const auto shape = infer_shape(banded(40 * n, n, w, border));
                CHECK(shape.block == w * n);
                CHECK(shape.bandwidth == w);
                CHECK(shape.border == border);
                if (w > 1) CHECK(says(to_string(shape), fmt::format(" (a band of {} blocks of {})", w, n)));
                const auto stated = infer_shape(banded(40 * n, n, w, border), {.bandwidth = w});
                CHECK(stated.block == w * n);
                CHECK(stated.border == border);
            }
}

TEST_CASE("shape: none that holds the entries takes fewer flops") {
    std::mt19937 random(11);
    const auto number = [&](std::int64_t below) { return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(below)); };
    for (int trial = 0; trial < 60; ++trial) {
        const auto rows = 2 + number(22), width = 1 + number(rows);
        SparseMatrix a{rows, rows, true, {}};
        for (std::int64_t k = 0; k < 2 * rows; ++k) {
            const auto row = number(rows), column = number(8) == 0 ? number(rows) : std::max<std::int64_t>(0, row - number(width));
            a.entries.push_back({row, column, 1});
        }
        const auto found = infer_shape(a);
        const auto holds = [&](const Shape& shape) {
            const auto chain = rows - shape.border, last = chain / shape.block - 1;
            return std::ranges::all_of(a.entries, [&](const Entry& entry) {
                const auto apart = std::abs(entry.row / shape.block - entry.column / shape.block);
                return std::max(entry.row, entry.column) >= chain || apart <= 1 || (shape.ring && apart == last);
            });
        };
        CHECK(holds(found));
        CHECK((!found.ring || (rows - found.border) % found.block == 0));
        for (std::int64_t border = 0; border < rows; ++border)
            for (std::int64_t block = 1; block <= rows - border; ++block)
                if (const auto other = infer_shape(a, {.block = block, .border = border}); holds(other))
                    CHECK(found.flops <= other.flops * (1 + 1e-14));
    }
}

TEST_CASE("shape: what is stated is kept, and refused where it is out of range") {
    const auto a = banded(20, 2, 1, 3);
    CHECK(infer_shape(a, {.border = 0}).block == 12);
    CHECK(infer_shape(a, {.block = 4}).border == 0);
    CHECK(infer_shape(a, {.block = 2, .bandwidth = 3}).block == 6);
    CHECK_INPUT_ERROR("border a of A with 23 rows = 23 is out of range; give 0 to 22", infer_shape(a, {.border = 23}));
    CHECK_INPUT_ERROR("= 513 is out of range; give 0 to 512", infer_shape(banded(600, 1, 1, 0), {.border = 513}));
    CHECK_INPUT_ERROR("bandwidth w = 2049 is out of range; give 1 to 2048", infer_shape(a, {.block = 2, .bandwidth = 2049}));
    CHECK_INPUT_ERROR("bandwidth w = 0 is out of range", infer_shape(a, {.bandwidth = 0}));
}
