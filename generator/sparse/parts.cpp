#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <trifold/error.hpp>

#include "generator/program/device.hpp"
#include "generator/sparse/arrangement.hpp"
#include "generator/sparse/knobs.hpp"

namespace trifold::sparse {
namespace {

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Puts rows into subdomains of equal numbers. Each one grows in breadth from a row next to those before it. Rows that are left alone in
/// between go to whichever subdomain comes to them.
class Growing {
  public:
    Growing(const SparsePattern& pattern, std::int64_t rows) : starts_(pattern.starts()), columns_(pattern.columns()), max_(rows) {
        of_row_.assign(static_cast<std::size_t>(pattern.rows()), -1);
    }
    std::vector<std::int32_t> grow() {
        for (std::int32_t seed; (seed = next_seed()) >= 0;) {
            queue_.assign(1, seed);
            for (std::size_t k = 0; k < queue_.size() && filled_ < max_; ++k) take(queue_[k]);
            edge_.insert(edge_.end(), queue_.begin(), queue_.end());
            if (filled_ < max_) continue;
            ++part_;
            filled_ = 0;
        }
        return std::move(of_row_);
    }
    std::int64_t parts() const { return part_ + (filled_ > 0 ? 1 : 0); }

  private:
    bool is_free(std::int32_t row) const { return of_row_[static_cast<std::size_t>(row)] < 0; }
    /// A free row, next to others if there is one; -1: none is free.
    std::int32_t next_seed() {
        while (first_of_edge_ < edge_.size())
            if (const auto row = edge_[first_of_edge_++]; is_free(row)) return row;
        edge_.clear();
        first_of_edge_ = 0;
        while (first_free_ < of_row_.size() && of_row_[first_free_] >= 0) ++first_free_;
        return first_free_ < of_row_.size() ? static_cast<std::int32_t>(first_free_) : -1;
    }
    void take(std::int32_t row) {
        if (!is_free(row)) return;
        of_row_[static_cast<std::size_t>(row)] = static_cast<std::int32_t>(part_);
        ++filled_;
        for (auto k = starts_[static_cast<std::size_t>(row)]; k < starts_[static_cast<std::size_t>(row) + 1]; ++k)
            if (const auto column = columns_[static_cast<std::size_t>(k)]; is_free(column)) queue_.push_back(column);
    }

    std::span<const std::int64_t> starts_;
    std::span<const std::int32_t> columns_;
    std::int64_t max_, part_ = 0, filled_ = 0;
    std::vector<std::int32_t> of_row_, queue_, edge_;  // edge: rows next to subdomains that are full
    std::size_t first_of_edge_ = 0, first_free_ = 0;
};

/// Lengths into which a side can be cut equally, but for rounding.
std::vector<std::int64_t> lengths_of(std::int64_t side) {
    std::vector<std::int64_t> lengths;
    for (std::int64_t pieces = 1; pieces <= side; ++pieces)
        if (const auto length = divide_up(side, pieces); lengths.empty() || lengths.back() != length) lengths.push_back(length);
    return lengths;
}
double cuts_of(std::int64_t side, std::int64_t length) {
    return static_cast<double>(divide_up(side, length) - 1) / static_cast<double>(side);
}

}  // namespace

namespace {

/// A small system leaves no multiprocessor without a subdomain, as long as those have something to do.
struct Small {
    std::int64_t most, least, each;  ///< rows of a subdomain: where there are many, where there are few, and of a multiprocessor
};
Small small_of(const SparseSpec& spec, const Target& target, std::int64_t rows, const Knobs& knobs) {
    const auto& device = device_of(target);
    const auto most = decide(knobs, spec, target, rows, "tile_scalars") / spec.block;
    if (target.backend == Backend::cpu || knobs.pinned.contains("tile_scalars")) return {most, most, most};
    return {most, std::min(most, device.count("models.sparse.least_scalars") / spec.block),
            divide_up(rows * spec.batch, device.count("facts.multiprocessors"))};
}

}  // namespace

std::int64_t usual_rows(const SparseSpec& spec, const Target& target, std::int64_t rows, const Knobs& knobs) {
    const auto [most, least, each] = small_of(spec, target, rows, knobs);
    return std::max<std::int64_t>(1, std::clamp(each, least, most));
}
std::int64_t max_parts(const SparseSpec& spec, const Target& target, std::int64_t rows, const Knobs& knobs) {
    const auto [most, least, each] = small_of(spec, target, rows, {knobs.pinned});
    return each > least && each < most ? device_of(target).count("facts.multiprocessors") / spec.batch : 0;
}

std::array<std::int64_t, 3> box_of(const SparseMesh& mesh, std::int64_t rows, std::int64_t max_parts) {
    std::array<std::int64_t, 3> best{1, 1, 1};
    double least = std::numeric_limits<double>::max();
    for (const auto z : lengths_of(mesh.depth))
        for (const auto y : lengths_of(mesh.height))
            for (const auto x : lengths_of(mesh.width)) {
                const auto parts = divide_up(mesh.width, x) * divide_up(mesh.height, y) * divide_up(mesh.depth, z);
                if (max_parts > 0 ? parts > max_parts : x * y * z > rows) continue;
                // Couplings that are cut, of those along each side.
                const double cuts = cuts_of(mesh.width, x) + cuts_of(mesh.height, y) + cuts_of(mesh.depth, z);
                const double cost = max_parts > 0 ? static_cast<double>(x * y * z) * (1 + cuts) : cuts;
                if (cost < least) {
                    least = cost;
                    best = {x, y, z};
                }
            }
    return best;
}

Parts parts_of_boxes(const SparseMesh& mesh, const std::array<std::int64_t, 3>& box) {
    for (const auto side : box)
        if (side < 1)
            throw SpecError(fmt::format("subdomains of {} x {} x {} cells; each side must be at least 1", box[0], box[1], box[2]));
    const auto across = divide_up(mesh.width, box[0]), down = divide_up(mesh.height, box[1]);
    Parts parts;
    parts.count = across * down * divide_up(mesh.depth, box[2]);
    parts.how = fmt::format("boxes of {}x{}x{} cells", box[0], box[1], box[2]);
    parts.of_row.reserve(static_cast<std::size_t>(mesh.width * mesh.height * mesh.depth));
    for (std::int64_t z = 0; z < mesh.depth; ++z)
        for (std::int64_t y = 0; y < mesh.height; ++y)
            for (std::int64_t x = 0; x < mesh.width; ++x)
                parts.of_row.push_back(static_cast<std::int32_t>(x / box[0] + across * (y / box[1] + down * (z / box[2]))));
    return parts;
}

Parts greedy_parts(const SparsePattern& pattern, std::int64_t rows) {
    const auto count = divide_up(pattern.rows(), rows);
    Growing growing(pattern, divide_up(pattern.rows(), count));
    Parts parts;
    parts.of_row = growing.grow();
    parts.count = growing.parts();
    parts.how = "neighbours in the pattern, greedily";
    return parts;
}

Parts whole(const SparsePattern& pattern) {
    return {std::vector<std::int32_t>(static_cast<std::size_t>(pattern.rows()), 0), 1, "one subdomain"};
}

Parts given_parts(const SparsePattern& pattern, const std::vector<std::int32_t>& of_row) {
    if (static_cast<std::int64_t>(of_row.size()) != pattern.rows())
        throw SpecError(fmt::format("the partition has {} numbers; the matrix has {} rows", of_row.size(), pattern.rows()));
    Parts parts{of_row, 0, "as given"};
    for (std::size_t row = 0; row < of_row.size(); ++row) {
        if (of_row[row] < 0 || of_row[row] >= pattern.rows())
            throw SpecError(fmt::format("row {} is in subdomain {}; give 0 to {}", row, of_row[row], pattern.rows() - 1));
        parts.count = std::max<std::int64_t>(parts.count, of_row[row] + 1);
    }
    std::vector<char> has(static_cast<std::size_t>(parts.count), 0);
    for (const auto part : of_row) has[static_cast<std::size_t>(part)] = 1;
    if (const auto found = std::ranges::find(has, 0); found != has.end())
        throw SpecError(fmt::format("subdomain {} has no rows; number subdomains from 0 without gaps", found - has.begin()));
    return parts;
}

}  // namespace trifold::sparse
