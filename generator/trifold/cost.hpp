#pragma once
#include <cstdint>
#include <trifold/schedule.hpp>
#include <trifold/spec.hpp>
#include <trifold/target.hpp>
#include <vector>

namespace [[gnu::visibility("default")]] trifold {

/// Exact numbers of operations on n by n blocks, priced as in socu Table 1: potrf n^3/3, trsm n^3, syrk n^3, gemm 2 n^3; and getrf 2 n^3/3.
struct Counts {
    std::int64_t potrf = 0, trsm = 0, syrk = 0, gemm = 0, getrf = 0;
    bool operator==(const Counts&) const = default;
    Counts& operator+=(const Counts& other);
    /// Flops in thirds of n^3: 1, 3, 3, 6 and 2 a block operation.
    std::int64_t thirds() const;
    double flops(std::int64_t block) const;
};
Counts operator*(std::int64_t times, const Counts& counts);

/// The factorization of one system, level by level.
struct LevelCost {
    std::int64_t chains = 0, fronts = 0;
    Counts counts;                     ///< all chains
    std::int64_t longest_thirds = 0;   ///< the costliest chain, in thirds of n^3
    std::int64_t makespan_thirds = 0;  ///< each chain, in order, on the worker that is free first, in thirds of n^3
    std::int64_t bytes =
        0;  ///< read and written, each array element counted once a use; of symmetric blocks one triangle, of LU no order of rows
};

struct Cost {
    std::vector<LevelCost> levels;
    Counts total;
    std::int64_t critical_thirds = 0;  ///< sum of the levels' makespans
    std::int64_t bytes = 0;
};

Counts front_counts(const Front& front, MatrixKind matrix = MatrixKind::positive_definite);
/// A chain of `length` fronts, with or without a separator behind its first and ahead of its last.
Counts chain_counts(std::int64_t length, bool behind, bool ahead, MatrixKind matrix = MatrixKind::positive_definite);
/// Throws SpecError when `workers` is below 1 or a count leaves 63 bits.
Cost cost(const Schedule& schedule, const Spec& spec, std::int64_t workers);

/// Modelled seconds of the Spec's whole batch with the variant that `auto` takes: of factor_solve; of factor on CPUs and where the Spec has
/// nothing that solves. On GPUs `workers` is not used. The models stand in the variants' files, their numbers in generator/devices.
double modelled_seconds(const Schedule& schedule, const Spec& spec, const Target& target, std::int64_t workers);

/// The schedule with the least modelled time among the named orders; the simplest of equals.
Schedule choose_schedule(const Spec& spec, const Target& target, std::int64_t workers);

}  // namespace trifold
