#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <trifold/program.hpp>
#include <vector>

namespace trifold {

/// Threads that share the pieces of one job after another. The caller is worker 0 and never waits for a thread that has
/// not begun: pieces are claimed, so on a busy machine the caller ends up doing them itself. A worker claims the pieces of its own share
/// first, so that in a row of like jobs it finds their data in its caches. Idle threads spin for a while, then park. No mutex, no
/// allocation after construction.
class Pool {
  public:
    using Job = void (*)(void* context, std::int64_t piece, int worker);
    static constexpr std::chrono::microseconds standard_spin{1000};

    /// Idle threads stay awake for `spin` after their last piece. Throws SpecError when there are more than trifold::max_workers,
    /// DeviceError when the system does not start that many threads.
    Pool(int workers, std::int64_t max_pieces, std::chrono::microseconds spin = standard_spin);
    ~Pool();
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;

    /// Runs pieces 0 .. pieces - 1 (at most max_pieces, and at most 65535) and returns when all have ended. One caller at a time.
    void run(std::int64_t pieces, Job job, void* context);

  private:
    void serve(int worker);
    void stop();
    int work(int worker, std::uint64_t announced);
    void park(std::uint64_t ended);
    void wait_for_helpers(int pieces);

    // The job's number << 16 | its pieces.
    alignas(64) std::atomic<std::uint64_t> announced_{0};
    alignas(64) std::atomic<int> done_{0};  // pieces of this job that helpers ended
    alignas(64) std::atomic<int> signal_{0};
    std::atomic<int> parked_{0};
    std::atomic<bool> stop_{false};
    // Written by the caller before it offers the first piece, read only by who has claimed one.
    Job job_ = nullptr;
    void* context_ = nullptr;
    std::uint64_t number_ = 0;
    int workers_;
    std::chrono::microseconds spin_;
    std::vector<std::atomic<std::uint64_t>> unclaimed_;  // by piece: the announced job it waits in, or 0
    std::vector<std::thread> threads_;
};

}  // namespace trifold
