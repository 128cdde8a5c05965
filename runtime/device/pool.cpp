#include "runtime/device/pool.hpp"

#include <fmt/format.h>

#include <chrono>
#include <system_error>
#include <trifold/error.hpp>
#include <trifold/precision.hpp>

#include "runtime/base/limits.hpp"

namespace trifold {
namespace {

void relax() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

/// How a thread waits before it sleeps. Waking one costs 50 to 100 us, more than a small factorization, so threads stay awake
/// from one call of a fast control loop to the next; but soon they let go first whoever else wants the processor.
class Patience {
  public:
    explicit Patience(std::chrono::microseconds spin) : spin_(spin) {}
    /// False when it is time to sleep.
    bool wait() {
        using namespace std::chrono_literals;
        relax();
        if (++count_ % 64 != 0) return true;
        const auto now = std::chrono::steady_clock::now();
        if (count_ == 64) start_ = now;
        if (now - start_ > 50us) std::this_thread::yield();
        return now - start_ < spin_;
    }

  private:
    std::chrono::microseconds spin_;
    int count_ = 0;
    std::chrono::steady_clock::time_point start_;
};

constexpr std::uint64_t announcement(std::uint64_t number, std::int64_t pieces) {
    return number << 16 | static_cast<std::uint64_t>(pieces);
}
constexpr std::int64_t pieces_of(std::uint64_t announced) { return static_cast<std::int64_t>(announced & 0xffff); }

}  // namespace

Pool::Pool(int workers, std::int64_t max_pieces, std::chrono::microseconds spin) : workers_(workers), spin_(spin) {
    check_range("workers", workers, 1, max_workers);
    unclaimed_ = std::vector<std::atomic<std::uint64_t>>(static_cast<std::size_t>(max_pieces));
    try {
        for (int worker = 1; worker < workers; ++worker) threads_.emplace_back([this, worker] { serve(worker); });
    } catch (const std::system_error& error) {
        stop();
        throw DeviceError(fmt::format("the system started only {} of {} threads ({}); give fewer workers", threads_.size(), workers - 1,
                                      why_refused(error.code().value())));
    } catch (...) {  // no memory for a thread
        stop();
        throw;
    }
}

Pool::~Pool() { stop(); }

void Pool::stop() {
    stop_.store(true);
    signal_.fetch_add(1);
    signal_.notify_all();
    for (auto& thread : threads_) thread.join();
}

/// Runs what it can claim of that job, from the start of the worker's own share on; gives the number of pieces it ran.
int Pool::work(int worker, std::uint64_t announced) {
    const auto pieces = pieces_of(announced);
    if (worker >= pieces) return 0;  // those below have a piece each
    const auto home = pieces < workers_ ? worker : worker * pieces / workers_;
    int mine = 0;
    for (std::int64_t k = 0; k < pieces; ++k) {
        const auto piece = (home + k) % pieces;
        auto& unclaimed = unclaimed_[static_cast<std::size_t>(piece)];
        // Looking first leaves the line to those who work.
        auto seen = unclaimed.load(std::memory_order_relaxed);
        if (seen != announced || !unclaimed.compare_exchange_strong(seen, 0, std::memory_order_acq_rel)) continue;
        job_(context_, piece, worker);
        ++mine;
        if (worker == 0) continue;
        done_.fetch_add(1, std::memory_order_release);
        done_.notify_one();
    }
    return mine;
}

void Pool::run(std::int64_t pieces, Job job, void* context) {
    job_ = job;
    context_ = context;
    done_.store(0, std::memory_order_relaxed);
    const auto announced = announcement(++number_, pieces);
    for (std::int64_t piece = 0; piece < pieces; ++piece)
        unclaimed_[static_cast<std::size_t>(piece)].store(announced, std::memory_order_release);
    // Sequentially consistent, as in park(): either the caller sees the parked thread or that thread sees the job.
    announced_.store(announced);
    if (parked_.load() > 0) {
        signal_.fetch_add(1);
        signal_.notify_all();
    }
    wait_for_helpers(static_cast<int>(pieces) - work(0, announced));
}

void Pool::wait_for_helpers(int pieces) {
    Patience patience(std::chrono::milliseconds(1));
    do {
        if (done_.load(std::memory_order_acquire) == pieces) return;
    } while (patience.wait());
    for (int seen = done_.load(std::memory_order_acquire); seen != pieces; seen = done_.load(std::memory_order_acquire))
        done_.wait(seen, std::memory_order_acquire);
}

void Pool::serve(int worker) {
    std::uint64_t ended = 0;  // the last job of which nothing is left for this thread
    while (!stop_.load(std::memory_order_relaxed)) {
        Patience patience(spin_);
        do {
            const auto announced = announced_.load(std::memory_order_acquire);
            if (announced == ended) continue;
            work(worker, announced);
            ended = announced;
            patience = Patience(spin_);
        } while (patience.wait() && !stop_.load(std::memory_order_relaxed));
        park(ended);
    }
}

void Pool::park(std::uint64_t ended) {
    const int seen = signal_.load();
    parked_.fetch_add(1);
    if (announced_.load() == ended && !stop_.load()) signal_.wait(seen);
    parked_.fetch_sub(1);
}

}  // namespace trifold
