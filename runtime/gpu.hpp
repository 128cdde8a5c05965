#pragma once
#include <filesystem>
#include <memory>
#include <trifold/device.hpp>
#include <vector>

#include "runtime/engine.hpp"

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

/// Whether this machine, whose files lie below `root`, shows any sign of such a device. To open a driver and find none takes 10 ms and
/// more, so what looks for a device by itself asks here first; who names a device has the driver opened, and is told what is wrong.
bool may_have_device(Backend backend, const std::filesystem::path& root = "/");

/// The Program's binary in the device's primary context, and its functions in the order of Program::kernels. Throws DeviceError.
struct Loaded {
    std::shared_ptr<const void> module;
    std::vector<void*> functions;
};
Loaded load(const Program& program, int ordinal, const Binary& binary);

/// `workspace` may be null: the engine allocates its own. Never-factored members are NaN from the start. Throws DeviceError.
std::unique_ptr<Engine> make_engine(std::shared_ptr<const Plan::State> plan, void* workspace);

}  // namespace trifold::gpu
