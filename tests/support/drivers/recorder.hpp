#pragma once
#include <functional>

namespace trifold::test {

/// Puts a step into the graph that a stream of the fake driver records, if it records one with the thread's own mode. Returns whether it
/// does.
bool record_step(void* stream, std::function<int()> step);

}  // namespace trifold::test
