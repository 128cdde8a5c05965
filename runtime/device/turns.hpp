#pragma once
#include <cstddef>
#include <functional>

namespace trifold {

/// Copies bytes of a call's workspace to the host.
using ToHost = std::function<void(void* to, const void* from, std::size_t bytes)>;
/// Called in the thread of a call between turns of launches that are repeated: after each on a CPU, on a GPU where the host looks whether
/// there is another. Null: nothing is called. What it throws ends the call.
inline thread_local const std::function<void(const ToHost&)>* between_turns = nullptr;

}  // namespace trifold
