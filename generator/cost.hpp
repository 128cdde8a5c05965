#pragma once
#include <cstdint>
#include <vector>

#include "generator/schedule.hpp"
#include "generator/spec.hpp"
#include "generator/target.hpp"

namespace trifold {

/// Exact operation counts on n by n blocks, costed as in socu Table 1: potrf n^3/3, trsm n^3, syrk n^3, gemm 2 n^3.
struct Counts {
    std::int64_t potrf = 0, trsm = 0, syrk = 0, gemm = 0;
    bool operator==(const Counts&) const = default;
    Counts& operator+=(const Counts& other);
    /// Flops in thirds of n^3: 1, 3, 3 and 6 a block operation.
    std::int64_t thirds() const;
    double flops(std::int64_t block) const;
};

struct LevelCost {
    std::int64_t chains = 0, fronts = 0;
    Counts counts;                     ///< all chains
    std::int64_t longest_thirds = 0;   ///< the longest chain, in thirds of n^3
    std::int64_t makespan_thirds = 0;  ///< with the given workers, each chain on one worker, in thirds of n^3
    std::int64_t bytes = 0;            ///< read and written by the factorization, each array element counted once a use
};

struct Cost {
    std::vector<LevelCost> levels;
    Counts total;
    std::int64_t critical_thirds = 0;  ///< sum of the levels' makespans
    std::int64_t bytes = 0;
};

Counts front_counts(const Front& front);
Cost cost(const Schedule& schedule, const Spec& spec, std::int64_t workers);

/// The schedule with the least modelled time on the target: flops at the rate one worker reaches, a fixed price a level.
Schedule choose_schedule(const Spec& spec, const Target& target, std::int64_t workers);

}  // namespace trifold
