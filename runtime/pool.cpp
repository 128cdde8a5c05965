#include "runtime/pool.hpp"

#include <fmt/format.h>

#include <chrono>
#include <system_error>

#include "generator/error.hpp"
#include "runtime/error.hpp"

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
    /// False when it is time to sleep.
    bool wait() {
        using namespace std::chrono_literals;
        relax();
        if (++count_ % 64 != 0) return true;
        const auto now = std::chrono::steady_clock::now();
        if (count_ == 64) start_ = now;
        if (now - start_ > 50us) std::this_thread::yield();
        return now - start_ < 1ms;
    }

  private:
    int count_ = 0;
    std::chrono::steady_clock::time_point start_;
};

constexpr std::uint64_t pack(std::uint32_t number, std::int64_t pieces) {
    return static_cast<std::uint64_t>(number) << 32 | static_cast<std::uint64_t>(pieces) << 16;
}
constexpr std::int64_t pieces_of(std::uint64_t ticket) { return static_cast<std::int64_t>(ticket >> 16 & 0xffff); }
constexpr std::int64_t next_of(std::uint64_t ticket) { return static_cast<std::int64_t>(ticket & 0xffff); }

}  // namespace

Pool::Pool(int workers) {
    if (workers > max_workers) throw SpecError(fmt::format("workers = {} is out of range; give at most {}", workers, max_workers));
    try {
        for (int worker = 1; worker < workers; ++worker) threads_.emplace_back([this, worker] { serve(worker); });
    } catch (const std::system_error& error) {
        stop();
        throw DeviceError(
            fmt::format("the system started only {} of {} threads ({}); give fewer workers", threads_.size(), workers - 1, error.what()));
    }
}

Pool::~Pool() { stop(); }

void Pool::stop() {
    stop_.store(true);
    signal_.fetch_add(1);
    signal_.notify_all();
    for (auto& thread : threads_) thread.join();
}

bool Pool::has_work() const {
    const auto ticket = ticket_.load();
    return next_of(ticket) < pieces_of(ticket);
}

bool Pool::claim(std::int64_t& piece) {
    // Looking first keeps idle threads from counting past the 16 bits.
    if (!has_work()) return false;
    const auto ticket = ticket_.fetch_add(1, std::memory_order_acq_rel);
    piece = next_of(ticket);
    return piece < pieces_of(ticket);
}

void Pool::run(std::int64_t pieces, Job job, void* context) {
    job_ = job;
    context_ = context;
    done_.store(0, std::memory_order_relaxed);
    // Sequentially consistent, as in park(): either the caller sees the parked thread or that thread sees the ticket.
    ticket_.store(pack(++number_, pieces));
    if (parked_.load() > 0) {
        signal_.fetch_add(1);
        signal_.notify_all();
    }
    int mine = 0;
    for (std::int64_t piece = 0; claim(piece); ++mine) job(context, piece, 0);
    wait_for_helpers(static_cast<int>(pieces) - mine);
}

void Pool::wait_for_helpers(int pieces) {
    Patience patience;
    do {
        if (done_.load(std::memory_order_acquire) == pieces) return;
    } while (patience.wait());
    for (int seen = done_.load(std::memory_order_acquire); seen != pieces; seen = done_.load(std::memory_order_acquire))
        done_.wait(seen, std::memory_order_acquire);
}

void Pool::serve(int worker) {
    while (!stop_.load(std::memory_order_relaxed)) {
        Patience patience;
        do {
            for (std::int64_t piece = 0; claim(piece); patience = {}) {
                job_(context_, piece, worker);
                done_.fetch_add(1, std::memory_order_release);
                done_.notify_one();
            }
        } while (patience.wait() && !stop_.load(std::memory_order_relaxed));
        park();
    }
}

void Pool::park() {
    const int seen = signal_.load();
    parked_.fetch_add(1);
    if (!has_work() && !stop_.load()) signal_.wait(seen);
    parked_.fetch_sub(1);
}

}  // namespace trifold
