#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <trifold/sparse_spec.hpp>
#include <vector>

#include "generator/program/knob.hpp"

/// A pattern, cut into subdomains and put into their order.
namespace trifold::sparse {

inline std::size_t at(std::int64_t k) { return static_cast<std::size_t>(k); }

/// The subdomain of each row, and how that was found, for people.
struct Parts {
    std::vector<std::int32_t> of_row;
    std::int64_t count = 0;
    std::string how;
};

/// Rows of a subdomain of a matrix with `rows` rows, if the caller leaves that open.
std::int64_t usual_rows(const SparseSpec& spec, const Target& target, std::int64_t rows, const Knobs& knobs);
/// The most subdomains of a small matrix, which are then all at work at the same time; 0: any number.
std::int64_t max_parts(const SparseSpec& spec, const Target& target, std::int64_t rows, const Knobs& knobs);
/// Boxes of cells, those at the end perhaps smaller.
Parts parts_of_boxes(const SparseMesh& mesh, const std::array<std::int64_t, 3>& box);
/// The box of at most `rows` cells that cuts the fewest couplings; with `max_parts`, of the boxes that make at most as many subdomains the
/// one with the fewest cells, where cuts count too.
std::array<std::int64_t, 3> box_of(const SparseMesh& mesh, std::int64_t rows, std::int64_t max_parts = 0);
/// Rows that are near one another in the pattern.
Parts greedy_parts(const SparsePattern& pattern, std::int64_t rows);
Parts whole(const SparsePattern& pattern);
/// Throws SpecError unless each row has a subdomain and no number is left out.
Parts given_parts(const SparsePattern& pattern, const std::vector<std::int32_t>& of_row);

/// The pattern of a factorization within a subdomain: rows and columns count from its first row. Subdomains with the same one share it.
struct Shape {
    std::vector<std::int32_t> starts{0};  ///< first entries of rows, and the number of entries
    std::vector<std::int32_t> columns;    ///< ascending in a row, its own among them
    std::vector<std::int32_t> diagonals;  ///< place of each row's own
    std::int64_t rows() const { return static_cast<std::int64_t>(diagonals.size()); }
    std::int64_t entries() const { return static_cast<std::int64_t>(columns.size()); }
    std::int64_t lower() const;  ///< entries left of the diagonal
    /// First entry of a row right of the diagonal, or left of it; and the columns there.
    std::int32_t first(std::size_t row, bool upper) const { return upper ? diagonals[row] + 1 : starts[row]; }
    std::span<const std::int32_t> side(std::size_t row, bool upper) const {
        const auto from = first(row, upper), end = upper ? starts[row + 1] : diagonals[row];
        return std::span(columns).subspan(at(from), at(end - from));
    }
    bool operator==(const Shape&) const = default;
};

/// Levels of a triangle of a shape: a row's level is one more than the highest of those that it needs.
struct Levels {
    std::vector<std::int32_t> of_row;
    std::int64_t count = 0;
};
Levels levels_of(const Shape& shape, bool upper);

struct Arrangement {
    std::vector<std::int32_t> order;             ///< the caller's row of each row
    std::vector<std::int64_t> starts;            ///< A by rows, in this order, columns ascending
    std::vector<std::int32_t> columns, sources;  ///< sources: blocks of the caller's values
    std::vector<std::int64_t> tile_starts;       ///< the first row of each subdomain, and the number of rows
    std::vector<std::int32_t> tile_shapes;
    std::vector<Shape> shapes;
    std::int64_t kept = 0;    ///< entries of A within subdomains
    std::int64_t filled = 0;  ///< entries of all factorizations
    std::string how;          ///< the partition, for people
    std::int64_t rows() const { return static_cast<std::int64_t>(order.size()); }
    std::int64_t entries() const { return static_cast<std::int64_t>(columns.size()); }
    std::int64_t tiles() const { return static_cast<std::int64_t>(tile_shapes.size()); }
    std::int64_t largest_tile() const;
    std::int64_t widest_row() const;  ///< the most entries of a row of a factorization
};

/// Rows within a subdomain: as the caller has them, or level after level of L where the preconditioner has no fill. Both give the same
/// factorization, since coupled rows keep their order.
enum class RowOrder { kept, by_levels };
RowOrder order_for(const Target& target);
/// Same result whatever the number of threads.
Arrangement arrange(const SparsePattern& pattern, const Parts& parts, SparsePreconditioner preconditioner,
                    RowOrder row_order = RowOrder::kept);

/// A by columns.
struct Transposed {
    std::vector<std::int64_t> starts;
    std::vector<std::int32_t> rows, entries;
};
Transposed transpose(const Arrangement& arrangement);

}  // namespace trifold::sparse
