#pragma once
#include <atomic>

namespace trifold {

/// Called in the thread of a call between its steps on a CPU. It throws what is to end the call: a user's Ctrl-C, which some languages keep
/// back until a call returns. The next call begins as after any other error.
using Interruption = void (*)();
inline std::atomic<Interruption> interruption = nullptr;

inline void look_for_interruption() {
    if (const auto look = interruption.load(std::memory_order_relaxed); look != nullptr) look();
}

}  // namespace trifold
