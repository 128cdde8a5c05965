#pragma once
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <trifold/precision.hpp>

namespace [[gnu::visibility("default")]] trifold {

/// Kind of A. `positive_definite`: A = L L'. `symmetric`: its pivots have both signs, as those of saddle points and of indefinite
/// Hessians: A = L S L', S a diagonal of signs, without interchanges. A matrix that needs them fails, or is found unstable: regularize it
/// (a quasi-definite matrix, [H A'; A -C] with H and C positive definite, has such factors in every order), or solve it as a general one.
/// `general`: A has an array U of its own for the blocks above the diagonal, all of D is read, and A = L U, where rows are interchanged
/// within each block (partial pivoting, as LAPACK's getrf).
enum class MatrixKind { positive_definite, symmetric, general };
/// Storage order of one n by n block of D and E.
enum class Order { row_major, column_major };
/// Half of A that E holds: `lower`: E_i = A(i+1, i); `upper`: E_i = A(i, i+1).
enum class Coupling { lower, upper };
/// `staged`: [batch][N][n][m], row-major in (n, m). `stacked`: one (N n) by m column-major matrix per member.
enum class RhsLayout { staged, stacked };

/// The calls of a Solver. Log determinant and status come with every factorization, b' A^-1 b with every forward sweep, unless the matrix
/// is general. `solve_transposed`, A' X = B, is of general matrices alone, and comes with `solve`. `load`: D and E are copied to the
/// workspace, some blocks at a time, where factorizations overwrite them. So there is no need for memory that has all of D and E.
enum class Operation { factor, forward, backward, solve, factor_forward, factor_solve, inverse, refine, solve_transposed, load };
std::string_view to_string(Operation operation);
using Operations = std::set<Operation>;
/// All that matrices of every kind have, but refine, which has vectors of its own in the workspace, and load, after which D and E are lost.
/// These have to be named.
Operations all_operations();
/// All of these but the selected inverse, which takes a quarter of the time to compile.
Operations usual_operations();
/// Names separated by commas, or "all"; throws SpecError on anything else.
Operations parse_operations(std::string_view text);
/// The names, separated by commas.
std::string to_string(const Operations& operations);

inline constexpr std::int64_t dense = -1;  ///< a stride or leading dimension that follows from the shape

/// Placement of a sequence of n by n blocks. Units: elements. A stage or member stride of 0 shares one block.
struct BlockLayout {
    std::int64_t leading = dense;
    std::int64_t stage = dense;
    std::int64_t member = dense;
    bool operator==(const BlockLayout&) const = default;
};

/// The problem to specialize for: A X = B with N diagonal blocks of n by n, m right-hand sides, `batch` systems at most.
struct Spec {
    std::int64_t block = 0;    ///< n, 1 to 4096
    std::int64_t horizon = 0;  ///< N, at least 1
    Precision precision = Precision::f64;
    MatrixKind matrix = MatrixKind::positive_definite;
    std::int64_t rhs = 1;    ///< m, the number of columns solved at once; more go in panels of m
    std::int64_t batch = 1;  ///< capacity: fewer members may be active at a call
    Order order = Order::row_major;
    Coupling coupling = Coupling::lower;
    RhsLayout rhs_layout = RhsLayout::staged;
    BlockLayout d = {};  ///< D: [batch][N][n][n]; only the lower triangle is read, unless the matrix is general
    BlockLayout e =
        {};  ///< E: [batch][N-1][n][n], or [batch][N][n][n] in a ring, or [batch][N][w][n][n] in a band; U of a general matrix too
    /// Whether the chain is closed: E has N blocks, of which the last couples block N - 1 to block 0: it is A(0, N-1), or with `upper`
    /// A(N-1, 0). Where N = 1, A is D + E + E'; where N = 2, the coupling of the two blocks is E_0 + E_1'.
    bool ring = false;
    /// Rows a of a border, 0 (none) to 512: A = [T F'; F C], where T is the chain, F [batch][N][a][n] and C [batch][a][a], row-major, of
    /// which the lower triangle is read. B and X then have a tip: [batch][a][m], or where rhs_layout is stacked a by m matrices.
    std::int64_t border = 0;
    /// Whether each member has a length of its own, 0 to N: the number of its blocks, which a factorization takes. What D, E and B hold
    /// beyond it is never used, and results beyond it are zero.
    bool lengths = false;
    /// Whether each block has a number of rows of its own, 0 to n, which a factorization takes. Of D, E and B the first rows and columns
    /// are used. What they hold beyond is never used, and results are zero there, but for the diagonal of an inverse, which means nothing.
    bool sizes = false;
    /// Blocks w below each diagonal block: E has w blocks for each of the N, of which the k-th couples block i to i + k, k = 1 to w. Those
    /// beyond block N - 1 are not used; in a ring, where w divides N, they go on from block 0. It is solved as ceil(N / w) blocks of w n
    /// rows, as a selected inverse has them. For n = 1 with leading dimension N and stage 1, D and E are the rows of LAPACK's pbtrf, lower.
    std::int64_t bandwidth = 1;
    Operations operations = usual_operations();  ///< calls to come; kernels that none of them needs are left out
    bool operator==(const Spec&) const = default;
};

/// Element (r, c) of block i of member b stands at b * member + i * stage + r * row + c * column, in elements.
struct Strides {
    std::int64_t row, column, stage, member;
    bool operator==(const Strides&) const = default;
};

inline constexpr std::int64_t max_block = 4096, max_border = 512;

/// Blocks of E of one system; in a band, those that the w blocks of each block column stand at.
std::int64_t couplings_of(const Spec& spec);
/// Blocks of the chain that is solved: those of a band are several of the caller's.
std::int64_t solved_blocks(const Spec& spec);
/// The chain that is solved: a band's blocks, w at a time, and the same strides. Others are their own.
Spec folded(const Spec& spec);

/// Throws SpecError unless every size is in range, every array's extent fits 63 bits, one of the operations factors, and mixed precision
/// has them.
void validate(const Spec& spec);

/// Strides of D.
Strides diagonal_strides(const Spec& spec);
/// Strides of the lower coupling A(i+1, i), whichever half is stored.
Strides coupling_strides(const Spec& spec);
/// From one of a block column's w blocks of E to the next.
std::int64_t band_stride(const Spec& spec);
/// Strides of B and X when they hold `columns` columns.
Strides rhs_strides(const Spec& spec, std::int64_t columns);

/// Elements from the first to one past the last that a call with `members` members touches.
std::int64_t diagonal_extent(const Spec& spec, std::int64_t members);
std::int64_t coupling_extent(const Spec& spec, std::int64_t members);
std::int64_t rhs_extent(const Spec& spec, std::int64_t members, std::int64_t columns);
/// The chain of a Spec with a border, whose right-hand sides are swept along with F.
Spec chain_of(const Spec& spec);
/// Its tip, a block of `border` rows.
Spec tip_of(const Spec& spec);

}  // namespace trifold
