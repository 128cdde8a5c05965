#pragma once
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <thread>
#include <trifold/transport.hpp>
#include <vector>

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

}  // namespace trifold::test
