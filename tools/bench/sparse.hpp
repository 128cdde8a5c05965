#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <trifold/sparse.hpp>
#include <vector>

#include "tools/bench/contender.hpp"
#include "tools/bench/statistics.hpp"
#include "tools/bench/timing.hpp"
#include "tools/formats/block_rows.hpp"

/// Sparse systems: each operation beside the bytes that it has to move, and these beside the device's copies.
namespace trifold::bench {

/// A x = b as a peer takes it, with the subdomain of each row of blocks.
struct SparseSystem {
    formats::BlockRows a;
    std::vector<double> b;
    std::vector<std::int32_t> parts;
};

/// A solver that is not ours; see Peer. Where it only preconditions its solutions are those of `apply`, to be compared with ours.
struct SparsePeer {
    std::string name, problem;
    bool preconditions = false;
    std::function<bool(const SparseSpec&, const SparsePattern&)> fits;
    std::function<std::unique_ptr<Contender>(const SparseSystem&, const DeviceTools&)> make;
};
std::vector<SparsePeer> find_sparse_peers(const Device& device);

struct SparseRequest {
    Device device;
    int workers = 1;
    std::vector<SparsePeer> peers;
    Budget budget;
    std::uint64_t seed = 0;
    double tolerance = 1e-8;
};

/// A x = b. Values are in the order of the pattern's, as a Spec in f64 has them.
struct SparseCase {
    std::string name;
    SparseSpec spec;
    SparsePattern pattern;
    SparsePartition partition;
    std::vector<double> values, b;
    std::optional<SparseMesh> mesh;  ///< none: a matrix of a file
};
/// How a mesh is given: as such, or as rows in compressed form, in its order or in a random one.
enum class MeshForm { mesh, rows, random_rows };
/// The values of sparse_values on a mesh.
SparseCase case_of_mesh(const SparseMesh& mesh, const SparseSpec& spec, const SparsePartition& partition, MeshForm form,
                        std::uint64_t seed);
/// Rows of a problem or of a file, whose block is that of `spec`; b is random.
SparseCase case_of_rows(std::string name, formats::BlockRows a, const SparseSpec& spec, const SparsePartition& partition,
                        std::uint64_t seed);

struct SparseResult {
    std::string solver, operation;
    Statistics seconds;
    double bytes = 0;  ///< the least that it moves; 0: not counted
    std::int64_t iterations = 0;
    std::string end;                 ///< of an iteration: how it ended
    std::optional<double> residual;  ///< |b - A x| / |b| of a solution, computed here
    std::optional<double> apart;     ///< of a peer that preconditions: |x - y| / |y|, where y is ours
};

/// The values of -Laplace with some convection, and random coupling within blocks.
std::vector<double> sparse_values(const SparsePattern& pattern, std::int64_t block, std::uint64_t seed);

/// Bytes a second, read and written, of copies of `bytes` in the device's memory.
double copy_rate(DeviceTools& tools, std::int64_t bytes, const Budget& budget);

struct SparseListener {
    std::function<void(const SparseSummary&)> plan;
    std::function<void(const SparseResult&)> result;
    std::function<void(const std::string& peer, const std::string& message)> failure;
};

/// Tables (once), update, apply, multiply and their transposed, solve and an iteration of it; then the peers. Throws as SparsePlan does.
void measure_sparse(const SparseCase& one, const SparseRequest& request, const SparseListener& listener);

}  // namespace trifold::bench
