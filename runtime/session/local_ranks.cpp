#include <fmt/format.h>

#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <trifold/transport.hpp>
#include <vector>

namespace trifold {

/// The mailboxes of all ranks.
struct LocalRanks::Hub {
    struct Rank {
        bool taken = false, ended = false;
        int waits_for = -1;
        std::vector<std::deque<std::vector<char>>> from;
    };
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<Rank> ranks;
    std::chrono::milliseconds limit;
    std::unique_ptr<RankError> failure;

    Rank& at(int rank) { return ranks[static_cast<std::size_t>(rank)]; }

    /// The rank that others wait for, and that itself waits for none.
    int culprit(int peer) {
        for (std::size_t k = 0; k < ranks.size() && at(peer).waits_for >= 0; ++k) peer = at(peer).waits_for;
        return peer;
    }
    [[noreturn]] void fail(int rank, const std::string& what) {
        if (failure == nullptr) failure = std::make_unique<RankError>(what, rank);
        changed.notify_all();
        throw RankError(*failure);
    }
};

class LocalRanks::Endpoint final : public Transport {
  public:
    Endpoint(std::shared_ptr<Hub> hub, int rank) : hub_(std::move(hub)), rank_(rank) {}
    ~Endpoint() override {
        const std::scoped_lock lock(hub_->mutex);
        hub_->at(rank_).ended = true;
        hub_->changed.notify_all();
    }
    int rank() const override { return rank_; }
    int ranks() const override { return static_cast<int>(hub_->ranks.size()); }

    void send(int to, const void* data, std::int64_t bytes, Stream) override {
        const std::scoped_lock lock(hub_->mutex);
        if (hub_->failure) throw RankError(*hub_->failure);
        const auto* first = static_cast<const char*>(data);
        hub_->at(to).from[static_cast<std::size_t>(rank_)].emplace_back(first, first + bytes);
        hub_->changed.notify_all();
    }

    void receive(int from, void* data, std::int64_t bytes, Stream) override {
        std::unique_lock lock(hub_->mutex);
        auto& self = hub_->at(rank_);
        auto& box = self.from[static_cast<std::size_t>(from)];
        self.waits_for = from;
        const auto came = [&] { return !box.empty() || hub_->failure || hub_->at(from).ended; };
        const bool in_time = hub_->changed.wait_for(lock, hub_->limit, came);
        if (!in_time) {
            const auto culprit = hub_->culprit(from);
            hub_->fail(culprit,
                       fmt::format("rank {} has not answered for {} ms, for which rank {} has waited in a call; all ranks must make "
                                   "the same calls in the same order",
                                   culprit, hub_->limit.count(), rank_));
        }
        self.waits_for = -1;
        if (hub_->failure) throw RankError(*hub_->failure);
        if (box.empty()) hub_->fail(from, fmt::format("rank {} has ended while rank {} waits for its message", from, rank_));
        const auto message = std::move(box.front());
        box.pop_front();
        if (static_cast<std::int64_t>(message.size()) != bytes)
            hub_->fail(from,
                       fmt::format("rank {} has sent {} bytes where rank {} expects {}; all ranks must make the same calls, with as many "
                                   "members and columns",
                                   from, message.size(), rank_, bytes));
        if (bytes > 0) std::memcpy(data, message.data(), message.size());
    }

  private:
    std::shared_ptr<Hub> hub_;
    int rank_;
};

LocalRanks::LocalRanks(int ranks, std::chrono::milliseconds time_limit) : hub_(std::make_shared<Hub>()) {
    if (ranks < 1) throw SpecError(fmt::format("{} ranks; give at least 1", ranks));
    if (time_limit.count() <= 0) throw SpecError(fmt::format("a time limit of {} ms; give at least 1", time_limit.count()));
    hub_->limit = time_limit;
    hub_->ranks.resize(static_cast<std::size_t>(ranks));
    for (auto& rank : hub_->ranks) rank.from.resize(hub_->ranks.size());
}

std::shared_ptr<Transport> LocalRanks::take(int rank) {
    const std::scoped_lock lock(hub_->mutex);
    if (rank < 0 || rank >= static_cast<int>(hub_->ranks.size()))
        throw SpecError(fmt::format("rank {} is none of the {}; ranks count from 0", rank, hub_->ranks.size()));
    if (std::exchange(hub_->at(rank).taken, true)) throw SpecError(fmt::format("rank {} is taken; take each rank once", rank));
    return std::make_shared<Endpoint>(hub_, rank);
}

}  // namespace trifold
