#pragma once
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <trifold/program.hpp>

namespace trifold {

struct Free {
    void operator()(void* memory) const { std::free(memory); }
};
using HostMemory = std::unique_ptr<void, Free>;

/// Memory of a workspace, on huge pages where it is large. Throws DeviceError when the machine has less, which ends with `advice`.
HostMemory allocate_on_host(std::int64_t bytes, std::string_view advice);

/// Writes what a workspace needs before its first launch; `whole`: all of it is NaN at first. gpu::clear_workspace does so on a GPU.
void clear_workspace(const Program& program, void* workspace, bool whole);

/// How long idle threads stay awake; -1: TRIFOLD_SPIN, or Pool::standard_spin. Throws SpecError on what is no time that a thread could
/// stay awake.
std::chrono::microseconds spin_time(int microseconds);

}  // namespace trifold
