#pragma once
#include <algorithm>
#include <mutex>
#include <trifold/trifold.hpp>
#include <vector>

#include "tests/runtime/ranks/on_ranks.hpp"
#include "tests/runtime/tridiagonal/fixture.hpp"

namespace trifold::test {

/// A rank's part of an array [members][blocks][each]; `count` blocks from `first` on.
template <class Real>
std::vector<Real> part(const std::vector<Real>& all, std::int64_t members, std::int64_t blocks, std::int64_t each, std::int64_t first,
                       std::int64_t count) {
    std::vector<Real> result;
    for (std::int64_t m = 0; m < members; ++m) {
        const auto begin = all.begin() + (m * blocks + first) * each;
        result.insert(result.end(), begin, begin + count * each);
    }
    return result;
}

template <class Real>
void put(std::vector<Real>& all, const std::vector<Real>& mine, std::int64_t members, std::int64_t blocks, std::int64_t each,
         std::int64_t first, std::int64_t count) {
    for (std::int64_t m = 0; m < members; ++m)
        std::copy_n(mine.begin() + m * count * each, count * each, all.begin() + (m * blocks + first) * each);
}

/// A rank's own arrays of a problem.
template <class Real>
struct Shard {
    Shard(const RankSpec& rank, const Problem<Real>& problem)
        : batch(rank.spec.batch),
          blocks(rank.spec.horizon),
          n(rank.spec.block),
          columns(problem.columns),
          first(rank.first_block()),
          count(rank.blocks()),
          couplings(std::min(count, blocks - 1 - first)),
          d(part(problem.input.d, batch, blocks, n * n, first, count)),
          e(part(problem.input.e, batch, blocks - 1, n * n, first, couplings)),
          b(part(problem.input.b, batch, blocks, n * columns, first, count)),
          x(b.size()) {}
    void put_x(std::vector<Real>& all) const { put(all, x, batch, blocks, n * columns, first, count); }
    std::int64_t batch, blocks, n, columns, first, count, couplings;
    std::vector<Real> d, e, b, x;
};

}  // namespace trifold::test
