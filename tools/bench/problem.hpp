#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <trifold/trifold.hpp>
#include <variant>
#include <vector>

#include "tools/bench/device_tools.hpp"
#include "tools/formats/assemble.hpp"
#include "tools/formats/block_rows.hpp"
#include "tools/formats/grid.hpp"

/// Problems that solvers are measured on: systems as the device has them, in double.
namespace trifold::bench {

struct ChainProblem {
    Spec spec;
    formats::System system;
    std::optional<formats::System> band = std::nullopt;  ///< the caller's arrays of a band, whose System is the chain that it is solved as
    std::vector<int> lengths = {}, sizes = {};           ///< of the Spec, if it has any
    const formats::System& arrays() const { return band ? *band : system; }
};

struct ImageProblem {
    GridSpec spec;
    formats::GridSystem system;
};

/// Results of our solver that others are compared with.
struct OurSparseResult {
    std::vector<std::int32_t> parts;          ///< the subdomain of each row of blocks
    std::vector<double> applied, x, history;  ///< M^-1 b, and the solution
};

struct SparseProblem {
    std::string name;
    SparseSpec spec;
    SparsePattern pattern;
    SparsePartition partition;
    formats::BlockRows a;
    std::vector<double> mesh_values;  ///< in the order of a mesh; empty: those of `a`
    std::vector<double> b;
    std::optional<SparseMesh> mesh = {};  ///< none: a matrix of a file, or of a problem
    double rtol = 1e-8;                   ///< what an iteration is asked for
    std::shared_ptr<OurSparseResult> ours = std::make_shared<OurSparseResult>();

    const std::vector<double>& values() const { return mesh_values.empty() ? a.values : mesh_values; }
};

/// In the order of `Family`.
using Problem = std::variant<ChainProblem, ImageProblem, SparseProblem>;
enum class Family { tridiagonal, grid, sparse };

/// The relative residual of a solution, by its family: ||A x - b|| / (||A|| ||x|| + ||b||) in infinity norms, the worst of a batch; of
/// sparse systems |b - A x| / |b|.
double residual_of(const Problem& problem, const std::vector<double>& x);

/// One of the problems of tools/problems, b included. Shapes are random: rings, bands and borders, lengths from 1 to N
/// and sizes from 1 to n.
ChainProblem make_chain(std::string_view name, const Spec& spec, std::uint64_t seed);
ImageProblem make_image(std::string_view name, const GridSpec& spec, std::uint64_t seed);

/// How a mesh is given: as such, or as rows in compressed form, in its order or in a random one.
enum class MeshForm { mesh, rows, random_rows };
/// -Laplace with some convection, and random coupling within blocks; for cg without convection, and symmetric.
SparseProblem make_mesh(const SparseMesh& mesh, const SparseSpec& spec, const SparsePartition& partition, MeshForm form,
                        std::uint64_t seed);
/// Rows of a problem or of a file, whose block is that of `spec`; b is random.
SparseProblem make_rows(std::string name, formats::BlockRows a, const SparseSpec& spec, const SparsePartition& partition,
                        std::uint64_t seed);

}  // namespace trifold::bench
