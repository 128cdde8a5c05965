#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <trifold/spec.hpp>
#include <utility>
#include <vector>

#include "tools/formats/matrix_market.hpp"
#include "tools/formats/npy.hpp"
#include "tools/formats/shape.hpp"

namespace trifold::formats {

/// A X = B in the Spec's default layouts, in double whatever the precision it is solved in. A band is the chain that it is solved as.
struct System {
    std::int64_t block = 0, horizon = 0, rhs = 1, batch = 1;
    std::int64_t rows = 0;  ///< of A as given: the chain's, which are padded to block * horizon (identity, b = 0), and the border's
    std::vector<double> d;  ///< [batch][N][n][n], the lower triangle counts
    std::vector<double> e;  ///< [batch][N-1][n][n], A(i+1, i); of a ring one more, A(0, N-1)
    std::vector<double> b;  ///< [batch][N n + a][m]

    bool general = false;   ///< A need not be symmetric: all of d counts, and u has A(i, i+1)
    std::vector<double> u;  ///< as e; of a ring A(N-1, 0) is its last

    bool ring = false;  ///< the last block is coupled to the first
    std::int64_t couplings() const { return ring ? horizon : horizon - 1; }
    std::int64_t bandwidth = 1;  ///< above 1: each block holds as many blocks of a band

    std::int64_t border = 0;   ///< a
    std::vector<double> f, c;  ///< of the border: [batch][N][a][n] and [batch][a][a], the lower triangle counts
    std::int64_t chain_rows() const { return block * horizon; }
    std::int64_t padding() const { return chain_rows() + border - rows; }

    std::vector<std::string> notes;  ///< clauses for the user: how what was given was taken
    bool operator==(const System&) const = default;
};

/// Two entries that make A not symmetric, where assemble() would say so; nothing where there are none.
std::optional<std::string> asymmetry(const SparseMatrix& a, Precision precision);

/// Blocks of a sparse A, b as columns. What is not stated is inferred. Three blocks or more are a ring where the entries say so.
System assemble(const SparseMatrix& a, const DenseMatrix& b, const Stated& stated, Precision precision);

/// The arrays of a System. The triangles of D's blocks and of C agree as those of a sparse A, or the upper one is zero,
/// unless the matrix is general.
struct Arrays {
    const Array& d;                          ///< (N,n,n), or with a batch in front, as all others
    const Array& e;                          ///< (N-1,n,n), which a batch may share; of a ring (N,n,n), of a band (N,w,n,n)
    const Array* b = nullptr;                ///< (N,n) or (N,n,m); with a border (N n + a) or (N n + a,m). None: zero
    const Array *f = nullptr, *c = nullptr;  ///< of a border, (N,a,n) and (a,a)
    bool ring = false;                       ///< whether a band is one
    const Array* u = nullptr;                ///< A(i, i+1) of a general matrix, as e
};
/// Throws InputError, which names the first value that is not finite in the precision. Without b there are chains alone.
System assemble(const Arrays& arrays, Precision precision);

/// The right-hand sides of a sparse b.
DenseMatrix to_dense(const SparseMatrix& b, std::string_view name);

/// Calls visit(row, column, value) for each entry of a member of a general matrix, with the padding.
template <class Visit>
void for_each_of_all(const System& system, std::int64_t member, const Visit& visit) {
    const auto n = system.block, rows = system.chain_rows();
    const auto block = [&](const std::vector<double>& values, std::int64_t count, std::int64_t k, std::int64_t to, std::int64_t from) {
        for (std::int64_t at = 0; at < n * n; ++at)
            visit((to * n + at / n) % rows, (from * n + at % n) % rows,
                  values[static_cast<std::size_t>((member * count + k) * n * n + at)]);
    };
    for (std::int64_t k = 0; k < system.horizon; ++k) block(system.d, system.horizon, k, k, k);
    for (std::int64_t k = 0; k < system.couplings(); ++k) {
        block(system.e, system.couplings(), k, k + 1, k);
        block(system.u, system.couplings(), k, k, k + 1);
    }
}
/// Likewise of its lower triangle, row by row; of a general matrix all entries.
template <class Visit>
void for_each_entry(const System& system, std::int64_t member, const Visit& visit) {
    if (system.general) return for_each_of_all(system, member, visit);
    const auto n = system.block, rows = system.chain_rows(), a = system.border;
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
    const auto *f = system.f.data() + member * rows * a, *c = system.c.data() + member * a * a;
    for (std::int64_t row = 0; row < a; ++row) {
        for (std::int64_t column = 0; column < rows; ++column) visit(rows + row, column, f[(column / n * a + row) * n + column % n]);
        for (std::int64_t column = 0; column <= row; ++column) visit(rows + row, rows + column, c[row * a + column]);
    }
}

/// Takes b by the rows of A, and pads the chain.
void pad(System& system, const std::vector<double>& rows);
/// x or b of a System from that by the rows of A, and the reverse.
std::vector<double> with_padding(const System& system, const std::vector<double>& rows);
std::vector<double> without_padding(const System& system, const std::vector<double>& rows);
/// Parts of x or b of a System: the rows of the chain, [batch][N][n][m], and those of the border, [batch][a][m]; and the reverse.
std::pair<std::vector<double>, std::vector<double>> parted(const System& system, const std::vector<double>& rows);
std::vector<double> joined(std::int64_t members, const std::vector<double>& chain, const std::vector<double>& tip);

/// The System of these members alone.
System members_of(const System& system, const std::vector<std::int64_t>& members);

/// The lower triangle of member 0, or all of it where it is general, without padding and zeros.
SparseMatrix to_sparse(const System& system);

}  // namespace trifold::formats
