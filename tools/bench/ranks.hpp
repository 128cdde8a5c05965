#pragma once
#include <barrier>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <trifold/trifold.hpp>
#include <vector>

#include "tools/bench/device_tools.hpp"

/// Work on several devices of one host, a thread each, whose messages NCCL carries.
namespace trifold::bench {

/// Seconds of a clock that only goes on.
double now();

/// "cuda" or "hip", whose devices are numbered, or "cpu", which all ranks share.
Device device_of(const std::string& backend, int number);

/// Runs on each device, a thread each. What one throws ends the program, since others may wait for it.
void on_devices(int count, const std::function<void(int)>& work);

using Transports = std::vector<std::shared_ptr<Transport>>;
/// A transport for each rank. `library`: NCCL's file, where it is not found by itself.
Transports connect(const std::string& backend, const std::string& library, int ranks);

std::shared_ptr<double> upload(const DeviceTools& tools, std::span<const double> host);

/// How often a call is timed, and how many follow one another in a run.
struct Runs {
    int runs = 5, calls = 1;
};
/// The least seconds of a call that all devices make together. After the first one, which is not timed, and after each run comes `after`.
double least_seconds(
    std::barrier<>& barrier, const DeviceTools& tools, const Runs& runs, const std::function<void()>& call,
    const std::function<void()>& after = [] {});

}  // namespace trifold::bench
