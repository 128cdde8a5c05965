#pragma once
#include <cstdint>
#include <span>

/// BiCGSTAB of dune-istl with its incomplete factorization (Debian's libdune-istl-dev), on one thread: it has no threads.
namespace trifold::bench {

/// A matrix of blocks by rows, and b.
struct BlockSystem {
    std::int64_t block;
    std::span<const std::int64_t> starts, columns;
    std::span<const double> values, b;
};
struct DuneTimes {
    double prepare = 0, solve = 0;  ///< seconds
    std::int64_t iterations = 0;
};
/// False in a build without dune-istl, or where it has no blocks of this size.
bool has_dune(std::int64_t block);
/// Overwrites x. `fill`: levels of fill.
DuneTimes solve_by_dune(const BlockSystem& system, int fill, double tolerance, std::span<double> x);

}  // namespace trifold::bench
