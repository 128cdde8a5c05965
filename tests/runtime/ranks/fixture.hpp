#pragma once
#include <algorithm>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <trifold/trifold.hpp>
#include <vector>

#include "tests/runtime/tridiagonal/fixture.hpp"

namespace trifold::test {

/// Runs a function on each rank, a thread each. Rethrows what the lowest rank has thrown.
inline void on_ranks(int ranks, const std::function<void(std::shared_ptr<Transport>)>& work,
                     std::chrono::milliseconds limit = std::chrono::seconds(60)) {
    LocalRanks all(ranks, limit);
    std::vector<std::exception_ptr> thrown(static_cast<std::size_t>(ranks));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank)
        threads.emplace_back([&, rank, transport = all.take(rank)]() mutable {
            try {
                work(std::move(transport));
            } catch (...) {
                thrown[static_cast<std::size_t>(rank)] = std::current_exception();
            }
        });
    for (auto& thread : threads) thread.join();
    for (const auto& error : thrown)
        if (error != nullptr) std::rethrow_exception(error);
}

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
