#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace trifold::test {

/// What a compiled unit sees of the machine; the same struct stands in platform.cuh.
struct Emulator {
    int thread;
    long long group[2];
    void* shared;
    void (*barrier)(int kind);  ///< 0: thread block, 1: warp
    void (*exchange)(const void* send, void* all, int bytes);
};

enum class Order { forward, reverse };

/// Runs one thread block: every thread a fiber that runs until it must wait for others, in the given order of threads.
/// Shared memory starts as NaN. Throws std::runtime_error when threads wait at barriers that the others never reach.
void run_block(Emulator& emulator, const std::function<void()>& kernel, int threads, std::int64_t shared_bytes, Order order);

}  // namespace trifold::test
