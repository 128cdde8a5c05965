#include "runtime/base/forks.hpp"

#include <pthread.h>

namespace trifold {

int forks() noexcept {
    static std::atomic<int> count = 0;
    static const int registered = ::pthread_atfork(nullptr, nullptr, [] { ++count; });
    static_cast<void>(registered);
    return count;
}

}  // namespace trifold
