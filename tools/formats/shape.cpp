#include "tools/formats/shape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <trifold/error.hpp>
#include <trifold/spec.hpp>
#include <tuple>
#include <vector>

#include "tools/formats/file.hpp"

namespace trifold::formats {
namespace {

std::size_t place(std::int64_t value) { return static_cast<std::size_t>(value); }

/// Flops of Cholesky's factorization with dense blocks. A matrix of one block takes no more.
double flops_of(std::int64_t block, std::int64_t rows, bool ring, std::int64_t border) {
    const auto n = static_cast<double>(block), all = static_cast<double>(rows), a = static_cast<double>(border);
    const auto blocks = std::max(all / n, 1.0);
    const auto chain = ring ? 19 * blocks - 30 : 7 * blocks - 6, of_border = ring ? 5 * blocks - 6 : 3 * blocks - 2;
    const auto thirds = n * n * n * chain + 3 * a * n * n * of_border + 3 * a * a * all + a * a * a;
    return (rows <= max_block ? std::min(thirds, (all + a) * (all + a) * (all + a)) : thirds) / 3;
}

/// The places of the entries that are not zero.
class Pattern {
  public:
    explicit Pattern(const SparseMatrix& a) : a_(a), first_(place(a.rows)), leading_(place(a.rows) + 1) {
        for (std::int64_t row = 0; row < a.rows; ++row) first_[place(row)] = row;
        for (const auto& entry : a.entries) {
            if (entry.value == 0) continue;
            const auto [column, row] = std::minmax(entry.row, entry.column);
            const auto away = row - column;
            auto& leading = leading_[place(row) + 1];
            first_[place(row)] = std::min(first_[place(row)], column);
            leading.width = std::max(leading.width, away);
            if (2 * away <= a.rows - max_border) leading.near = std::max(leading.near, away);
            if (2 * away >= a.rows) leading.far = std::min(leading.far, away);
        }
        for (std::size_t k = 1; k < leading_.size(); ++k) {
            leading_[k].width = std::max(leading_[k].width, leading_[k - 1].width);
            leading_[k].near = std::max(leading_[k].near, leading_[k - 1].near);
            leading_[k].far = std::min(leading_[k].far, leading_[k - 1].far);
        }
    }

    std::int64_t width() const { return leading_.back().width; }

    /// The number of leading rows that are a band: blocks of n, each of which is coupled to the next w.
    std::int64_t rows_of_band(std::int64_t n, std::int64_t w) const {
        std::int64_t row = 0;
        while (row < a_.rows && row / n - first_[place(row)] / n <= w) ++row;
        return row;
    }
    /// Whether leading rows are a ring of three blocks or more: some entry couples the last one to the first, and none is elsewhere.
    bool is_ring(std::int64_t rows, std::int64_t n) const {
        const auto last = rows / n - 1;
        if (rows % n != 0 || last < 2) return false;
        bool is_closed = false;
        for (const auto& entry : a_.entries) {
            if (entry.value == 0 || std::max(entry.row, entry.column) >= rows) continue;
            const auto apart = std::abs(entry.row / n - entry.column / n);
            if (apart > 1 && apart != last) return false;
            is_closed = is_closed || apart == last;
        }
        return is_closed;
    }

    /// The cheapest shape whose border has `least` to `most` rows; nothing where none has blocks that are small enough.
    std::optional<Shape> cheapest(std::int64_t bandwidth, std::int64_t least, std::int64_t most) const {
        std::vector<Shape> candidates;  // with a bound of their blocks and flops
        for (auto border = least; border <= most; ++border)
            for (const bool ring : {false, true}) {
                Shape one{.block = least_block(a_.rows - border, bandwidth, ring), .bandwidth = bandwidth, .ring = ring, .border = border};
                one.flops = flops_of(one.block, a_.rows - border, ring, border);
                if (one.block <= max_block) candidates.push_back(one);
            }
        std::ranges::stable_sort(candidates, {}, &Shape::flops);
        std::optional<Shape> best;
        std::vector<std::int64_t> banded(place(max_block) + 1, -1);  // rows_of_band by block, where it is known
        const auto order = [](const Shape& shape) { return std::tuple(shape.flops, shape.border, shape.ring); };
        for (auto one : candidates) {
            if (best && one.flops > best->flops) break;
            one.block = block_of(one, banded);
            one.flops = flops_of(one.block, a_.rows - one.border, one.ring, one.border);
            if (one.block > 0 && (!best || order(one) < order(*best))) best = one;
        }
        return best;
    }

  private:
    /// Distances from the diagonal in the rows before one.
    struct Leading {
        std::int64_t width = 0;                                       ///< the largest
        std::int64_t near = 0;                                        ///< the largest that is no more than half of any border's chain
        std::int64_t far = std::numeric_limits<std::int64_t>::max();  ///< the least that is no less than half of all rows
    };

    /// No smaller block holds the leading rows. A ring has entries that are more than a third of its rows from the diagonal.
    std::int64_t least_block(std::int64_t rows, std::int64_t bandwidth, bool ring) const {
        const auto& leading = leading_[place(rows)];
        if (!ring) return bandwidth * std::max<std::int64_t>((leading.width + 1 + bandwidth) / (bandwidth + 1), 1);
        if (3 * leading.width <= rows) return max_block + 1;
        return std::max({leading.near + 2, leading.far > rows ? 0 : rows - leading.far + 2, std::int64_t{2}}) / 2;
    }
    /// The least block that does, from the candidate's on; 0: there is none.
    std::int64_t block_of(const Shape& candidate, std::vector<std::int64_t>& banded) const {
        const auto rows = a_.rows - candidate.border, w = candidate.bandwidth;
        if (candidate.ring) {
            for (auto n = (candidate.block + w - 1) / w * w; n <= std::min(rows / 3, max_block); n += w)
                if (is_ring(rows, n)) return n;
            return 0;
        }
        for (auto n = candidate.block / w; n * w <= max_block; ++n) {
            auto& known = banded[place(n)];
            if (known < 0) known = rows_of_band(n, w);
            if (known >= rows) return n * w;
        }
        return 0;
    }

    const SparseMatrix& a_;
    std::vector<std::int64_t> first_;  // column of a row's first entry
    std::vector<Leading> leading_;
};

/// Of a chain of three blocks or more, the most blocks that each of its smaller ones is coupled to; 1: its blocks are full as they are.
std::int64_t infer_bandwidth(const Pattern& pattern, std::int64_t rows, std::int64_t block) {
    constexpr std::int64_t most = 8;
    for (auto w = std::min(most, block); w > 1 && rows > 2 * block; --w)
        if (block % w == 0 && pattern.rows_of_band(block / w, w) >= rows) return w;
    return 1;
}

/// A border leaves a row to the chain.
std::int64_t largest_border(std::int64_t rows) { return std::clamp<std::int64_t>(rows - 1, 0, max_border); }

void check_stated(const Stated& stated, std::int64_t rows) {
    const auto check_one = [](const std::optional<std::int64_t>& value, std::string_view what, std::int64_t least, std::int64_t most) {
        if (value && (*value < least || *value > most))
            throw InputError(fmt::format("{} = {} is out of range; give {} to {}", what, *value, least, most));
    };
    check_one(stated.block, "block size n", 1, max_block);
    check_one(stated.bandwidth, "bandwidth w", 1, max_block / stated.block.value_or(1));
    check_one(stated.border, fmt::format("border a of A with {} rows", rows), 0, largest_border(rows));
}

}  // namespace

Shape infer_shape(const SparseMatrix& a, const Stated& stated) {
    check_stated(stated, a.rows);
    const Pattern pattern(a);
    const auto bandwidth = stated.bandwidth.value_or(1);
    const auto most_border = stated.general ? 0 : largest_border(a.rows);
    if (stated.block) {
        Shape shape{.block = *stated.block * bandwidth, .bandwidth = bandwidth, .border = stated.border.value_or(0)};
        const auto rows = a.rows - shape.border;
        shape.ring = pattern.is_ring(rows, shape.block);
        shape.flops = flops_of(shape.block, rows, shape.ring, shape.border);
        return shape;
    }
    auto shape = pattern.cheapest(bandwidth, stated.border.value_or(0), stated.border.value_or(most_border));
    if (!shape)
        throw InputError(
            fmt::format("A has entries {} off the diagonal, so no block size up to {} holds them; reorder it to a smaller bandwidth",
                        pattern.width(), max_block));
    if (!stated.bandwidth && !shape->ring) shape->bandwidth = infer_bandwidth(pattern, a.rows - shape->border, shape->block);
    return *shape;
}

std::string to_string(const Shape& shape) {
    auto text = fmt::format("blocks of {} in a {}", shape.block, shape.ring ? "ring" : "row");
    if (shape.bandwidth > 1) text += fmt::format(" (a band of {} blocks of {})", shape.bandwidth, shape.block / shape.bandwidth);
    if (shape.border > 0) text += fmt::format(" and a border of {}", shape.border);
    return text;
}

}  // namespace trifold::formats
