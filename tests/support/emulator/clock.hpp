#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

namespace trifold::test {

/// Counts the barriers and releases of the machine: an access knows how many there were before it.
using Time = std::uint32_t;

/// A vector clock: of each thread of some blocks, the time up to which its accesses are known. 0: nothing is.
class Clock {
  public:
    Time at(std::uint32_t block, std::uint32_t thread) const {
        const auto found = known_.find(block);
        return found == known_.end() || found->second.size() <= thread ? 0 : found->second[thread];
    }
    /// Of the first `threads` threads of a block, to be raised.
    std::vector<Time>& of(std::uint32_t block, std::size_t threads) {
        auto& times = known_[block];
        if (times.size() < threads) times.resize(threads);
        return times;
    }
    void join(const Clock& other) {
        for (const auto& [block, times] : other.known_) {
            auto& mine = of(block, times.size());
            for (std::size_t k = 0; k < times.size(); ++k) mine[k] = std::max(mine[k], times[k]);
        }
    }
    void forget(std::uint32_t block) { known_.erase(block); }
    void clear() { known_.clear(); }
    bool empty() const { return known_.empty(); }

  private:
    std::map<std::uint32_t, std::vector<Time>> known_;
};

}  // namespace trifold::test
