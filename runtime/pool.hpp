#pragma once
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace trifold {

/// Threads that share the pieces of one job after another. The caller is worker 0 and never waits for a thread that has
/// not begun: pieces are claimed, so on a busy machine the caller ends up doing them itself. Idle threads spin for a
/// while, then park. No mutex, no allocation after construction.
class Pool {
  public:
    using Job = void (*)(void* context, std::int64_t piece, int worker);
    static constexpr std::int64_t max_pieces = 1 << 15;
    static constexpr int max_workers = 1024;

    /// Throws SpecError when there are more than max_workers, DeviceError when the system does not start that many threads.
    explicit Pool(int workers);
    ~Pool();
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;

    /// Runs pieces 0 .. pieces - 1 (at most max_pieces) and returns when all have ended. One caller at a time.
    void run(std::int64_t pieces, Job job, void* context);

  private:
    void serve(int worker);
    void stop();
    bool claim(std::int64_t& piece);
    bool has_work() const;
    void park();
    void wait_for_helpers(int pieces);

    // What to claim next, in one word so that a claim is of one job: job number << 32 | pieces << 16 | next piece.
    alignas(64) std::atomic<std::uint64_t> ticket_{0};
    alignas(64) std::atomic<int> done_{0};  // pieces of this job that helpers ended
    alignas(64) std::atomic<int> signal_{0};
    std::atomic<int> parked_{0};
    std::atomic<bool> stop_{false};
    // Written by the caller before it publishes the ticket, read only by who has claimed a piece of it.
    Job job_ = nullptr;
    void* context_ = nullptr;
    std::uint32_t number_ = 0;
    std::vector<std::thread> threads_;
};

}  // namespace trifold
