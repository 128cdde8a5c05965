#include "generator/sparse/arrangement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <trifold/error.hpp>

#include "generator/sparse/fields.hpp"
#include "generator/sparse/threads.hpp"

namespace trifold::sparse {
namespace {

constexpr std::int64_t min_of_thread = 4096;  // rows; fewer are done before another thread has begun

/// Fill-in of one subdomain. An entry's fill level is 0 in A. Eliminating row k gives (i, j) the sum of those of (i, k) and (k, j), plus 1.
class Filling {
  public:
    Filling(std::int64_t rows, int most) : max_(most), level_(at(rows), -1), upper_(at(rows)) {}

    /// Adds the next row, whose columns in A these are.
    void add(std::span<const std::int32_t> columns, Shape& shape) {
        const auto row = static_cast<std::int32_t>(shape.diagonals.size());
        found_.assign(columns.begin(), columns.end());
        for (const auto column : columns) level_[at(column)] = 0;
        for (std::size_t k = 0; max_ > 0 && k < found_.size() && found_[k] < row; ++k) {
            const auto pivot = found_[k];
            for (const auto& [column, level] : upper_[at(pivot)]) {
                const int sum = level_[at(pivot)] + level + 1;
                if (sum > max_) continue;
                if (level_[at(column)] < 0) {
                    found_.insert(std::lower_bound(found_.begin() + static_cast<std::ptrdiff_t>(k), found_.end(), column), column);
                    level_[at(column)] = sum;
                } else
                    level_[at(column)] = std::min(level_[at(column)], sum);
            }
        }
        for (const auto column : found_) {
            if (column == row) shape.diagonals.push_back(static_cast<std::int32_t>(shape.columns.size()));
            if (column > row) upper_[at(row)].emplace_back(column, level_[at(column)]);
            shape.columns.push_back(column);
            level_[at(column)] = -1;
        }
        shape.starts.push_back(static_cast<std::int32_t>(shape.columns.size()));
    }

  private:
    int max_;
    std::vector<int> level_;  // fill levels of the row's entries; -1: none
    std::vector<std::int32_t> found_;
    std::vector<std::vector<std::pair<std::int32_t, int>>> upper_;
};

/// Fill-in of meshes is a few times their entries. More than this comes from rows that couple all others.
constexpr std::int64_t max_fill = 32, always_taken = 1 << 20;  // times the subdomain's entries; entries

[[noreturn]] void refuse_fill(const Arrangement& a, std::int64_t tile, SparsePreconditioner preconditioner, std::int64_t most) {
    const auto first = a.tile_starts[at(tile)], end = a.tile_starts[at(tile) + 1];
    auto longest = first;
    const auto entries = [&](std::int64_t row) { return a.starts[at(row) + 1] - a.starts[at(row)]; };
    for (auto row = first; row < end; ++row)
        if (entries(row) > entries(longest)) longest = row;
    throw SpecError(fmt::format(
        "preconditioner {} would make more than {} entries of the {} that {} rows of a subdomain have: eliminating a row couples "
        "all that it has entries of, and row {} has {}. Give {}, which adds none, or smaller subdomains",
        to_string(preconditioner), most, a.starts[at(end)] - a.starts[at(first)], end - first, a.order[at(longest)], entries(longest),
        to_string(SparsePreconditioner::ildu0)));
}

Shape shape_of(const Arrangement& a, std::int64_t tile, SparsePreconditioner preconditioner) {
    const auto first = a.tile_starts[at(tile)], end = a.tile_starts[at(tile) + 1];
    const auto most = std::max(always_taken, max_fill * (a.starts[at(end)] - a.starts[at(first)]));
    Filling filling(end - first, properties_of(preconditioner).fill);
    const bool diagonal_alone = !properties_of(preconditioner).has_triangles;
    Shape shape;
    std::vector<std::int32_t> columns;
    for (auto row = first; row < end; ++row) {
        columns.clear();
        for (auto k = a.starts[at(row)]; k < a.starts[at(row) + 1]; ++k) {
            const auto column = a.columns[at(k)];
            if (column >= first && column < end && (!diagonal_alone || column == row))
                columns.push_back(static_cast<std::int32_t>(column - first));
        }
        filling.add(columns, shape);
        if (std::ssize(shape.columns) > most) refuse_fill(a, tile, preconditioner, most);
    }
    return shape;
}

/// The level of each row within its subdomain: one more than the highest of rows before it that either has an entry of the other.
std::vector<std::int32_t> row_levels(const SparsePattern& pattern, const Parts& parts) {
    std::vector<std::int32_t> levels(parts.of_row.size(), 0);
    const auto starts = pattern.starts();
    const auto columns = pattern.columns();
    // Rows ascend: each has its own level before those behind it learn of it.
    for (std::size_t row = 0; row < levels.size(); ++row) {
        const auto within = std::span(columns).subspan(at(starts[row]), at(starts[row + 1] - starts[row]));
        for (const auto column : within)
            if (at(column) < row && parts.of_row[at(column)] == parts.of_row[row])
                levels[row] = std::max(levels[row], levels[at(column)] + 1);
        for (const auto column : within)
            if (at(column) > row && parts.of_row[at(column)] == parts.of_row[row])
                levels[at(column)] = std::max(levels[at(column)], levels[row] + 1);
    }
    return levels;
}

/// Puts rows into the order of their subdomains.
void order_rows(Arrangement& a, const Parts& parts) {
    const auto rows = static_cast<std::int64_t>(parts.of_row.size());
    a.tile_starts.assign(at(parts.count) + 1, 0);
    for (const auto part : parts.of_row) ++a.tile_starts[at(part) + 1];
    std::partial_sum(a.tile_starts.begin(), a.tile_starts.end(), a.tile_starts.begin());
    auto next = a.tile_starts;
    a.order.resize(at(rows));
    for (std::int64_t row = 0; row < rows; ++row) a.order[at(next[at(parts.of_row[at(row)])]++)] = static_cast<std::int32_t>(row);
}

void order_entries(Arrangement& a, const SparsePattern& pattern) {
    const auto rows = pattern.rows();
    const auto starts = pattern.starts();
    const auto columns = pattern.columns(), sources = pattern.sources();
    std::vector<std::int32_t> place(at(rows));
    a.starts.assign(at(rows) + 1, 0);
    for (std::int64_t row = 0; row < rows; ++row) {
        const auto from = a.order[at(row)];
        place[at(from)] = static_cast<std::int32_t>(row);
        a.starts[at(row) + 1] = a.starts[at(row)] + starts[at(from) + 1] - starts[at(from)];
    }
    a.columns.resize(columns.size());
    a.sources.resize(columns.size());
    for_ranges(rows, min_of_thread, [&](std::int64_t first, std::int64_t end) {
        std::vector<std::pair<std::int32_t, std::int32_t>> entries;
        for (auto row = first; row < end; ++row) {
            const auto from = a.order[at(row)];
            entries.clear();
            for (auto k = starts[at(from)]; k < starts[at(from) + 1]; ++k)
                entries.emplace_back(place[at(columns[at(k)])], sources.empty() ? static_cast<std::int32_t>(k) : sources[at(k)]);
            std::ranges::sort(entries);
            auto to = at(a.starts[at(row)]);
            for (const auto& [column, source] : entries) {
                a.columns[to] = column;
                a.sources[to++] = source;
            }
        }
    });
}

/// Puts rows of each subdomain into the order of their levels.
void order_by_levels(Arrangement& a, const std::vector<std::int32_t>& levels) {
    for_ranges(static_cast<std::int64_t>(a.tile_starts.size()) - 1, 1, [&](std::int64_t first, std::int64_t end) {
        for (auto tile = first; tile < end; ++tile)
            std::stable_sort(a.order.begin() + a.tile_starts[at(tile)], a.order.begin() + a.tile_starts[at(tile) + 1],
                             [&](std::int32_t one, std::int32_t other) { return levels[at(one)] < levels[at(other)]; });
    });
}

/// A key that is equal for equal shapes.
std::string key_of(const Shape& shape) {
    const auto bytes = [](const auto& list) {
        return std::string(reinterpret_cast<const char*>(list.data()), list.size() * sizeof list[0]);
    };
    return bytes(shape.starts) + bytes(shape.columns);
}

void find_shapes(Arrangement& a, SparsePreconditioner preconditioner) {
    // Some subdomains at a time, so that equal ones need not all be kept.
    constexpr std::int64_t together = 64;
    std::map<std::string, std::int32_t> numbers;
    const auto tiles = static_cast<std::int64_t>(a.tile_starts.size()) - 1;
    for (std::int64_t first = 0; first < tiles; first += together) {
        const auto count = std::min(together, tiles - first);
        std::vector<Shape> found(at(count));
        std::vector<std::string> keys(at(count));
        for_ranges(count, 1, [&](std::int64_t begin, std::int64_t end) {
            for (auto k = begin; k < end; ++k) {
                found[at(k)] = shape_of(a, first + k, preconditioner);
                keys[at(k)] = key_of(found[at(k)]);
            }
        });
        for (std::size_t k = 0; k < found.size(); ++k) {
            a.filled += found[k].entries();
            const auto [place, is_new] = numbers.emplace(std::move(keys[k]), static_cast<std::int32_t>(a.shapes.size()));
            if (is_new) a.shapes.push_back(std::move(found[k]));
            a.tile_shapes.push_back(place->second);
        }
    }
}

std::int64_t count_kept(const Arrangement& a) {
    std::int64_t kept = 0;
    for (std::size_t tile = 0; tile + 1 < a.tile_starts.size(); ++tile)
        for (auto k = a.starts[at(a.tile_starts[tile])]; k < a.starts[at(a.tile_starts[tile + 1])]; ++k)
            kept += a.columns[at(k)] >= a.tile_starts[tile] && a.columns[at(k)] < a.tile_starts[tile + 1] ? 1 : 0;
    return kept;
}

}  // namespace

std::int64_t Shape::lower() const {
    std::int64_t count = 0;
    for (std::size_t row = 0; row < diagonals.size(); ++row) count += std::ssize(side(row, false));
    return count;
}

std::int64_t Arrangement::largest_tile() const {
    std::int64_t most = 0;
    for (std::size_t k = 0; k + 1 < tile_starts.size(); ++k) most = std::max(most, tile_starts[k + 1] - tile_starts[k]);
    return most;
}

std::int64_t Arrangement::widest_row() const {
    std::int32_t most = 0;
    for (const auto& shape : shapes)
        for (std::size_t row = 0; row < shape.diagonals.size(); ++row) most = std::max(most, shape.starts[row + 1] - shape.starts[row]);
    return most;
}

Levels levels_of(const Shape& shape, bool upper) {
    const auto rows = shape.diagonals.size();
    Levels levels{std::vector<std::int32_t>(rows, 0), 0};
    for (std::size_t k = 0; k < rows; ++k) {
        const auto row = upper ? rows - 1 - k : k;
        auto& level = levels.of_row[row];
        for (const auto column : shape.side(row, upper)) level = std::max(level, levels.of_row[at(column)] + 1);
        levels.count = std::max<std::int64_t>(levels.count, level + 1);
    }
    return levels;
}

RowOrder order_for(const Target& target) { return target.backend == Backend::cpu ? RowOrder::kept : RowOrder::by_levels; }

Arrangement arrange(const SparsePattern& pattern, const Parts& parts, SparsePreconditioner preconditioner, RowOrder row_order) {
    Arrangement a;
    a.how = parts.how;
    order_rows(a, parts);
    if (row_order == RowOrder::by_levels && properties_of(preconditioner).has_triangles && properties_of(preconditioner).fill == 0)
        order_by_levels(a, row_levels(pattern, parts));
    order_entries(a, pattern);
    find_shapes(a, preconditioner);
    a.kept = count_kept(a);
    return a;
}

Transposed transpose(const Arrangement& a) {
    Transposed transposed;
    transposed.starts.assign(at(a.rows()) + 1, 0);
    for (const auto column : a.columns) ++transposed.starts[at(column) + 1];
    std::partial_sum(transposed.starts.begin(), transposed.starts.end(), transposed.starts.begin());
    auto next = transposed.starts;
    transposed.rows.resize(a.columns.size());
    transposed.entries.resize(a.columns.size());
    for (std::int64_t row = 0; row < a.rows(); ++row)
        for (auto k = a.starts[at(row)]; k < a.starts[at(row) + 1]; ++k) {
            const auto to = at(next[at(a.columns[at(k)])]++);
            transposed.rows[to] = static_cast<std::int32_t>(row);
            transposed.entries[to] = static_cast<std::int32_t>(k);
        }
    return transposed;
}

}  // namespace trifold::sparse
