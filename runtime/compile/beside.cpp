#include "runtime/compile/beside.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>
#include <trifold/error.hpp>

#include "runtime/base/forks.hpp"
#include "runtime/base/processors.hpp"
#include "runtime/base/switches.hpp"
#include "runtime/compile/compiler.hpp"

namespace trifold {
namespace {

/// Units that wait for a thread, and the threads, which end when none waits.
class Queue {
  public:
    void add(std::vector<Unit> units, std::size_t most_threads) {
        const std::scoped_lock lock(mutex_);
        if (ends_) return;
        join_ended();
        const auto wanted = std::min(most_threads, threads_.size() + units.size());
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
                static_cast<void>(obtain(*unit));
            } catch (const std::exception&) {
                // Whoever needs it obtains it again, and is told.
            }
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

/// Compilers must not end before what is being compiled. What is registered last runs first, so this comes after they are loaded.
void wait_at_exit(Backend backend) {
    static std::array<std::once_flag, 3> registered;
    std::call_once(registered.at(static_cast<std::size_t>(backend)), [] { std::atexit([] { queue().end(); }); });
}

}  // namespace

bool remembers() {
    const auto is_set = [](const char* name) { return !switch_value(name).empty(); };
    return !disabled("cache") && !is_set("TRIFOLD_DUMP") && !is_set("TRIFOLD_EXTERNAL_SOURCE");
}

void obtain_beside(std::vector<Unit> units) try {
    if (units.empty()) return;
    const auto& target = units.front().target;
    static_cast<void>(find_compiler(target));
    wait_at_exit(target.backend);
    queue().add(std::move(units), static_cast<std::size_t>(usable_processors()));
} catch (const DeviceError&) {
    // There is no compiler, which whoever needs the units is told.
}

}  // namespace trifold
