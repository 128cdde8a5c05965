#include "runtime/compile/async.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <system_error>
#include <thread>
#include <trifold/binary.hpp>
#include <trifold/error.hpp>

#include "runtime/base/forks.hpp"
#include "runtime/base/limits.hpp"
#include "runtime/base/processors.hpp"
#include "runtime/base/switches.hpp"
#include "runtime/compile/compiler.hpp"
#include "runtime/compile/sources.hpp"

namespace trifold {
namespace {

void end_queue();

/// Shared by threads that compile. A fork has it alone: compilers have locks, and a child has no thread that would let them go.
auto& compiling = *new std::shared_mutex;

/// Units that wait for a thread, and the threads, which end when none waits.
class Queue {
  public:
    void add(std::vector<Unit> units, std::size_t max_threads) {
        const std::scoped_lock lock(mutex_);
        if (ends_) return;
        join_ended();
        const auto wanted = std::min(max_threads, threads_.size() + units.size());
        std::ranges::move(units, std::back_inserter(waiting_));
        try {
            while (threads_.size() < wanted) threads_.emplace_back([this] { work(); });
        } catch (const std::system_error&) {
            // Then those that need the units compile them.
        }
    }
    /// Lets nothing begin any more, and waits.
    void end() {
        std::vector<std::thread> threads;
        {
            const std::scoped_lock lock(mutex_);
            ends_ = true;
            waiting_.clear();
            threads.swap(threads_);
        }
        for (auto& thread : threads) thread.join();
    }

  private:
    void work() {
        while (auto unit = next()) {
            try {
                const std::shared_lock lock(compiling);
                static_cast<void>(obtain(*unit));
            } catch (const std::exception&) {
                // Whoever needs it obtains it again, and is told.
            }
            // atexit handlers run in reverse order: this one runs before compilers are destroyed.
            std::atexit(end_queue);
        }
    }
    std::optional<Unit> next() {
        const std::scoped_lock lock(mutex_);
        if (waiting_.empty()) {
            ended_.insert(std::this_thread::get_id());
            return std::nullopt;
        }
        auto unit = std::move(waiting_.front());
        waiting_.pop_front();
        return unit;
    }
    void join_ended() {
        for (auto& thread : threads_)
            if (ended_.erase(thread.get_id()) > 0) thread.join();
        std::erase_if(threads_, [](const std::thread& thread) { return !thread.joinable(); });
    }
    std::mutex mutex_;
    std::deque<Unit> waiting_;
    std::vector<std::thread> threads_;
    std::set<std::thread::id> ended_;
    bool ends_ = false;
};

Queue& queue() {
    static auto& instance = *new PerProcess<Queue>;
    return *instance;
}

void end_queue() { queue().end(); }

/// Compilers have static objects, made as they are needed and destroyed at exit. Before any of those go the objects of the main thread, so
/// this one waits there for what is being compiled.
struct EndOfThread {
    ~EndOfThread() {
        if (::gettid() == ::getpid()) end_queue();
    }
};

}  // namespace

bool remembers() {
    const auto is_set = [](const char* name) { return !switch_value(name).empty(); };
    return !disabled("cache") && !is_set("TRIFOLD_DUMP") && !is_set("TRIFOLD_EXTERNAL_SOURCE");
}

void obtain_beside(std::vector<Unit> units) try {
    if (units.empty()) return;
    static_cast<void>(find_compiler(units.front().target));
    // The lock of a child is made again: it would not know its owner, whose number is another one there.
    static const int at_fork =
        ::pthread_atfork([] { compiling.lock(); }, [] { compiling.unlock(); }, [] { std::construct_at(&compiling); });
    thread_local const EndOfThread at_end;
    static_cast<void>(at_fork), static_cast<void>(at_end);
    queue().add(std::move(units), static_cast<std::size_t>(usable_processors()));
} catch (const DeviceError&) {
    // There is no compiler, which whoever needs the units is told.
}

std::vector<Binary> obtain_all(const Program& program) try {
    check_external_source(program);
    if (program.units.size() == 1) return {obtain(program.units.front())};
    std::vector<std::future<Binary>> started;
    for (const auto& unit : program.units)  // deferred: where no thread can be started
        started.push_back(std::async(std::launch::async | std::launch::deferred, [&unit] { return obtain(unit); }));
    std::vector<Binary> binaries;
    for (auto& binary : started) binaries.push_back(binary.get());
    return binaries;
} catch (const std::system_error& error) {
    throw_refused(error);
}

}  // namespace trifold
