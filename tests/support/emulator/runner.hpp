#pragma once
#include <cstdint>
#include <functional>

#include "tests/support/emulator/detector.hpp"
#include "tests/support/emulator/emulator.h"

namespace trifold::test {

/// Which wave goes on when several can, and the lanes within it: the first always, the last always, or a random one.
enum class Order { forward, reverse, random };

/// How a grid runs. With one block alive at a time, blocks run one after another in the order in which they would be
/// launched; with more, their waves are interleaved.
struct Running {
    Order order = Order::forward;
    unsigned seed = 1;
    int alive = 1;
    std::int64_t max_steps = 20'000'000;  ///< of a thread in one launch of a watched unit: the tests' own need at most a quarter
};

struct Grid {
    std::int64_t x = 1, y = 1;
    int threads = 1, lanes = 32;
    std::int64_t shared_bytes = 0;
    std::int64_t cluster = 1;  ///< blocks, consecutive in x
};

/// Runs a kernel: every thread a fiber that runs until it must wait for others. Shared memory starts as NaN, asynchronous
/// copies land when they are waited for. `detector`, if any, is told of every access and barrier. Throws std::runtime_error
/// where the kernel cannot go on: threads wait for what never comes, one did what no device allows, or takes steps without end.
void run_grid(Emulator& emulator, const std::function<void()>& kernel, const Grid& grid, const Running& running = {},
              Detector* detector = nullptr);

}  // namespace trifold::test
