#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <trifold/precision.hpp>
#include <trifold/program.hpp>
#include <trifold/target.hpp>
#include <vector>

/// Sparse systems: A x = b, where A has small dense blocks in any pattern, by an iteration with an incomplete factorization.
namespace [[gnu::visibility("default")]] trifold {

/// Approximations of A whose inverse an iteration applies. All but `none` are made within subdomains, from the entries between their rows.
/// `ildu0`: L D U on the pattern of A. `ildu1`, `ildu2`: with fill of that level. `dilu`: only D is computed. `ic0`: ildu0 of a symmetric
/// matrix. `jacobi`: the blocks of the diagonal.
enum class SparsePreconditioner { none, jacobi, dilu, ic0, ildu0, ildu1, ildu2 };
/// `cg`: conjugate gradients, for a matrix that is symmetric and positive definite.
enum class SparseMethod { bicgstab, cg, gmres };
/// Calls of a SparseSolver, without `update`, which all of them need.
enum class SparseOperation { apply, apply_transposed, multiply, multiply_transposed, solve, solve_transposed, gradient };
using SparseOperations = std::set<SparseOperation>;
SparseOperations all_sparse_operations();
std::string_view to_string(SparsePreconditioner preconditioner);
std::string_view to_string(SparseMethod method);
std::string_view to_string(SparseOperation operation);
/// Throw SpecError on any other name, with those that there are.
SparsePreconditioner parse_sparse_preconditioner(std::string_view text);
SparseMethod parse_sparse_method(std::string_view text);

/// The problem to specialize for. Kernels depend on it and on the target, and not on the pattern.
///
/// Values of A: [batch][entries][block][block], entries in the order of the pattern. B and X: [batch][rows][block][columns].
struct SparseSpec {
    std::int64_t block = 1;                ///< 1 to 8
    Precision precision = Precision::f64;  ///< mixed: factors in f32, all else in f64
    SparsePreconditioner preconditioner = SparsePreconditioner::ildu0;
    SparseMethod method = SparseMethod::bicgstab;
    std::int64_t restart = 30;     ///< gmres: vectors between two restarts, at most 32
    std::int64_t rhs = 1;          ///< right-hand sides solved at once, at most 8; more go in panels of that many
    std::int64_t batch = 1;        ///< capacity: fewer sets of values may be active at a call
    std::int64_t maxiter = 10000;  ///< a call may ask for fewer; the history has the first 10 000 at most
    SparseOperations operations = all_sparse_operations();
    bool operator==(const SparseSpec&) const = default;
};

inline constexpr std::int64_t max_sparse_block = 8, max_sparse_rhs = 8, max_sparse_restart = 32, max_sparse_history = 10000;

/// Throws SpecError unless every size is in range.
void validate(const SparseSpec& spec);

/// A box of cells, each coupled with its neighbours: 5 or 9 points where depth is 1, else 7, 19 or 27. Row x + width (y + height z) is
/// that of cell (x, y, z). Values have all points of a row, also those that lie beyond the box, which are not read: neighbours in the order
/// of their rows, as (z, y, x) from (-1, -1, -1) to (1, 1, 1).
struct SparseMesh {
    std::int64_t width = 0, height = 1, depth = 1;
    int points = 7;
    bool operator==(const SparseMesh&) const = default;
    std::int64_t entries() const;  ///< blocks of A. Throws SpecError where it is no mesh
};

/// Places of the blocks of A. Immutable; copies share it.
class SparsePattern {
  public:
    /// Rows of blocks in compressed form: row i has the columns from starts[i] to before starts[i + 1], ascending, its own among them.
    /// Throws SpecError with the row and column of what is wrong.
    SparsePattern(std::span<const std::int64_t> starts, std::span<const std::int64_t> columns);
    SparsePattern(std::span<const std::int32_t> starts, std::span<const std::int32_t> columns);
    SparsePattern(std::span<const std::int64_t> starts, std::span<const std::int32_t> columns);
    explicit SparsePattern(const SparseMesh& mesh);

    std::int64_t rows() const;     ///< of blocks
    std::int64_t entries() const;  ///< blocks of A
    /// Blocks in an array of values: `entries`, or `points` for each row of a mesh.
    std::int64_t values() const;
    std::span<const std::int64_t> starts() const;
    std::span<const std::int32_t> columns() const;
    /// Place of each entry's block among the values. Empty: entry k is number k.
    std::span<const std::int32_t> sources() const;
    const SparseMesh* mesh() const;  ///< null: rows in compressed form
    std::string hash() const;        ///< of all that defines it

  private:
    struct Data;
    template <class Start, class Column>
    [[gnu::visibility("hidden")]] static std::shared_ptr<const Data> checked(std::span<const Start> starts,
                                                                             std::span<const Column> columns);
    std::shared_ptr<const Data> data_;
};
/// The mesh of a pattern: the one that it was made of, or the one whose cells its rows are, x first, then y, then z.
std::optional<SparseMesh> mesh_of(const SparsePattern& pattern);

/// Partition of rows into subdomains.
///   automatic  boxes of a mesh, also where rows turn out to be the cells of one; else metis, or greedy where its library is not installed
///   box        boxes of `box` cells of a mesh
///   metis      METIS, with equal numbers of rows
///   greedy     rows that are near one another in the pattern, one subdomain after another
///   given      `parts` says the subdomain of each row
///   whole      one subdomain
enum class SparsePartitioning { automatic, box, metis, greedy, given, whole };
std::string_view to_string(SparsePartitioning partitioning);
SparsePartitioning parse_sparse_partitioning(std::string_view text);
struct SparsePartition {
    SparsePartitioning by = SparsePartitioning::automatic;
    std::array<std::int64_t, 3> box{};  ///< cells in x, y, z
    std::vector<std::int32_t> parts;    ///< of each row, from 0
    std::int64_t rows = 0;              ///< of a subdomain, about; 0: by the device's model
};

/// Choices that change speed but not the problem. CPU threads change no bit; other subdomains make another preconditioner.
struct SparseTuning {
    int workers = 1;
    int spin_microseconds = -1;  ///< how long idle threads stay awake after a call; -1: TRIFOLD_SPIN, or 1000
    /// The kernels: "sweeps", with pinned knobs where they follow: "sweeps:tile_scalars=4096". `trifold explain` lists them.
    /// auto: what was measured to be best, by wisdom or by the rows of the device.
    std::string variant = "auto";
    bool operator==(const SparseTuning&) const = default;
};

/// A SparseSpec with everything that was left open decided.
struct SparseChoice {
    SparseSpec spec;
    Target target;
    SparseTuning tuning;  ///< its variant is "sweeps", with what the caller or wisdom has pinned
    DecisionSource rung = DecisionSource::model;
    std::string row;  ///< of wisdom, with its file; empty: none decided
};

/// Decides what the tuning leaves to `auto`, without wisdom. The target must be resolved. Throws SpecError.
SparseChoice choose(const SparseSpec& spec, const Target& target, const SparseTuning& tuning = {});

}  // namespace trifold
