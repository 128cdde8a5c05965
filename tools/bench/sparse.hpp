#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <trifold/sparse.hpp>
#include <vector>

#include "tools/bench/statistics.hpp"
#include "tools/bench/timing.hpp"

/// Sparse systems: each operation beside the bytes that it has to move, and these beside the device's copies.
namespace trifold::bench {

struct SparsePeer {
    std::string name, problem;
};

struct SparseRequest {
    Device device;
    int workers = 1;
    std::vector<SparsePeer> peers;  ///< none yet
    Budget budget;
    std::uint64_t seed = 0;
    double tolerance = 1e-8;
};

/// A mesh whose rows couple blocks; `by_pattern`: given as rows in compressed form with the same subdomains.
struct SparseCase {
    SparseMesh mesh;
    std::array<std::int64_t, 3> box{};  ///< of a subdomain; zeros: the plan's choice
    SparseSpec spec;
    bool by_pattern = false;
};
std::string to_string(const SparseCase& one);

struct SparseResult {
    std::string operation;
    Statistics seconds;
    double bytes = 0;  ///< the least that it moves; 0: not counted
    std::int64_t iterations = 0;
    double residual = 0;  ///< |b - A x| / |b| of a solution, computed here
    std::string end;      ///< of a solution: how it ended
};

/// The values of -Laplace with some convection, and random coupling within blocks.
std::vector<double> sparse_values(const SparsePattern& pattern, std::int64_t block, std::uint64_t seed);

/// Bytes a second, read and written, of copies of `bytes` in the device's memory.
double copy_rate(DeviceTools& tools, std::int64_t bytes, const Budget& budget);

/// Setup (once), update, apply, multiply and their transposed, solve and an iteration of it. Throws as SparsePlan does.
void measure_sparse(const SparseCase& one, const SparseRequest& request, const std::function<void(const SparseResult&)>& result,
                    const std::function<void(const SparseSummary&)>& plan);

}  // namespace trifold::bench
