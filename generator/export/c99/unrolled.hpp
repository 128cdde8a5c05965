#pragma once
#include <string>

#include "generator/export/c99/export.hpp"

namespace trifold {

/// How many sums the plain C keeps in registers.
struct Tiling {
    std::int64_t rows, columns;  ///< size of a tile of the factorization. It takes `columns` pivots at a time, a multiple of `rows`
    std::int64_t sweep_rows;     ///< rows that a sweep sums at once, with as many products of each in one turn of its loop
};
Tiling tiling_of(const ExportRequest& request);

/// The C of a factorization: tiles, pivots, a block, a panel.
std::string c99_factorization(const ExportRequest& request);
/// The C of both sweeps over a block.
std::string c99_sweeps(const ExportRequest& request);
/// The C of a solution by both sweeps over all blocks, one after another.
std::string c99_solution(const ExportRequest& request);
/// The C of a block times a block, and of it times right-hand sides, as chains need them.
std::string c99_products(const ExportRequest& request);

}  // namespace trifold
