#pragma once
#include <atomic>
#include <memory>

namespace trifold {

/// Number of forks since the first process. A child must not wait for locks that threads of its parent held. Unlike getpid() it takes no
/// system call. The first call must come before the fork that counts.
int forks() noexcept;

/// A T of this process. After a fork the child has a new one, and its parent's is never destroyed there: threads and locks of the parent
/// are not in the child.
template <class T>
class PerProcess {
  public:
    PerProcess() : current_(new Born) {}
    PerProcess(const PerProcess&) = delete;
    PerProcess& operator=(const PerProcess&) = delete;
    ~PerProcess() {
        const auto* last = current_.load();
        if (last->born == forks()) delete last;
    }
    T& operator*() {
        auto* found = current_.load();
        if (found->born == forks()) return found->value;
        auto renewed = std::make_unique<Born>();
        if (current_.compare_exchange_strong(found, renewed.get())) found = renewed.release();
        return found->value;
    }
    T* operator->() { return &**this; }

  private:
    struct Born {
        int born = forks();
        T value = {};
    };
    std::atomic<Born*> current_;
};

}  // namespace trifold
