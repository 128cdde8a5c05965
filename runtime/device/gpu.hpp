#pragma once
#include <filesystem>
#include <memory>
#include <trifold/device.hpp>
#include <vector>

/// All that the rest of the runtime sees of CUDA and HIP. In a build without one, everything but report() throws DeviceError.
namespace trifold::gpu {

struct DeviceInfo {
    std::string name;
    std::string arch;  ///< as the driver says it: sm_90, gfx942
    std::int64_t memory_bytes;
};

/// The driver and its devices; `problem` says why there are none. Never throws.
struct Report {
    std::string driver, problem;
    std::vector<DeviceInfo> devices;
};
Report report(Backend backend);
/// For a device that is there.
int multiprocessors(Backend backend, int ordinal);

/// Whether machine code for the device's target does not run on it, since it is of a newer major version: then PTX does.
bool needs_ptx(const Device& device);

/// Whether this machine, whose files lie below `root`, shows any sign of such a device. To open a driver and find none takes 10 ms and
/// more, so what looks for a device by itself asks here first; who names a device has the driver opened, and is told what is wrong.
bool may_have_device(Backend backend, const std::filesystem::path& root = "/");

}  // namespace trifold::gpu
