#pragma once
#include <cstddef>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace trifold::test {

inline constexpr std::size_t stack_bytes = 128 * 1024;

/// A stack and where its execution stands. On x86-64 the switch is our own: swapcontext also saves the signal mask, two
/// system calls each time.
class Fiber {
  public:
    void start(char* stack, void (*entry)());  ///< `entry` must never return
    void switch_to(Fiber& other);

  private:
#if defined(__x86_64__)
    void* pointer_ = nullptr;
#else
    ucontext_t context_{};
#endif
};

}  // namespace trifold::test
