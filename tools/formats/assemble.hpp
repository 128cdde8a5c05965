#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <trifold/spec.hpp>
#include <vector>

#include "tools/formats/matrix_market.hpp"
#include "tools/formats/npy.hpp"

namespace trifold::formats {

/// A X = B in the Spec's default layouts, in double whatever the precision it is solved in.
struct System {
    std::int64_t block = 0, horizon = 0, rhs = 1, batch = 1;
    std::int64_t rows = 0;  ///< of A as given; the rows from here to block * horizon are padding (identity, b = 0)
    std::vector<double> d;  ///< [batch][N][n][n], the lower triangle counts
    std::vector<double> e;  ///< [batch][N-1][n][n], A(i+1, i); of a ring one more, A(0, N-1)
    std::vector<double> b;  ///< [batch][N][n][m]

    bool ring = false;  ///< the last block is coupled to the first
    std::int64_t couplings() const { return ring ? horizon : horizon - 1; }

    std::vector<std::string> notes;  ///< clauses for the user: how what was given was taken
    bool operator==(const System&) const = default;
};

/// Blocks in a row, or in a ring.
struct Shape {
    std::int64_t block = 0;
    bool ring = false;
};
/// Smallest n whose block-tridiagonal pattern holds every entry that is not zero, or that of a ring where it takes fewer flops.
Shape infer_shape(const SparseMatrix& a);

/// Two entries that make A not symmetric, where assemble() would say so; nothing where there are none.
std::optional<std::string> asymmetry(const SparseMatrix& a, Precision precision);

/// Blocks of a sparse A, b as columns. Without a block size it is inferred. Three blocks or more are a ring where the entries say so.
/// Throws InputError: sizes that do not match, an entry outside the band that is not zero (the first in the file), repeated entries, an A
/// whose triangles differ by more than 1e-8 of sqrt(|a_ii a_jj|), in f32 1e-3 (the pair); MemoryError.
System assemble(const SparseMatrix& a, const DenseMatrix& b, std::optional<std::int64_t> block, Precision precision);

/// D (N,n,n), E (N-1,n,n) or (N,n,n) of a ring, b (N,n) or (N,n,m); or D (B,N,n,n), E (N-1,n,n) or (B,N-1,n,n), b (B,N,n) or (B,N,n,m). The
/// triangles of D's blocks agree as those of a sparse A, or the upper one is zero. Throws InputError.
System assemble(const Array& d, const Array& e, const Array& b);

/// D and E alone, of no ring; the right-hand side is zero. Its messages speak of no b.
System assemble(const Array& d, const Array& e);

/// The right-hand sides of a sparse b.
DenseMatrix to_dense(const SparseMatrix& b, std::string_view name);

/// Throws InputError naming the first value that is not finite, or not representable in the precision.
void check_finite(const System& system, Precision precision);

/// Calls visit(row, column, value) for each entry of a member's lower triangle, row by row, with the padding.
template <class Visit>
void for_each_entry(const System& system, std::int64_t member, const Visit& visit) {
    const auto n = system.block, rows = n * system.horizon;
    const auto *d = system.d.data() + member * rows * n, *e = system.e.data() + member * system.couplings() * n * n;
    for (std::int64_t row = 0; row < rows; ++row) {
        const auto first = row / n * n;
        for (std::int64_t c = 0; system.ring && first == rows - n && c < n; ++c) {
            const auto closing = e[(first + c) * n + row - first];
            visit(row, c, row == c ? 2 * closing : closing);
        }
        for (std::int64_t c = 0; first > 0 && c < n; ++c) visit(row, first - n + c, e[(row - n) * n + c]);
        for (std::int64_t c = 0; first + c <= row; ++c) visit(row, first + c, d[row * n + c]);
    }
}

/// The lower triangle of member 0, without padding and zeros.
SparseMatrix to_sparse(const System& system);

}  // namespace trifold::formats
