#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <trifold/target.hpp>
#include <vector>

namespace [[gnu::visibility("default")]] trifold {

/// A device that a Plan runs on. A CUDA device is its primary context; the caller's current context, or device of HIP, is restored after
/// every call.
class Device {
  public:
    /// This machine's processor; `target().arch` is the highest psABI level it has.
    static Device cpu();
    /// Throws DeviceError (no driver, no such device) saying what was found and what to install.
    static Device cuda(int ordinal = 0);
    static Device hip(int ordinal = 0);
    /// "auto" (the first CUDA device, else the first of HIP, else the processor), "cpu", "cpu:x86-64-v3" (a level that this
    /// processor has), "cuda", "cuda:1", "hip" or "hip:1". Throws SpecError on anything else, DeviceError when it is not here.
    static Device parse(std::string_view text);

    Backend backend() const { return target_.backend; }
    const Target& target() const { return target_; }
    int ordinal() const { return ordinal_; }
    const std::string& name() const { return name_; }  ///< such as "NVIDIA H200" or "cpu:x86-64-v4"
    std::int64_t memory_bytes() const { return memory_bytes_; }

  private:
    static Device gpu(Backend backend, int ordinal);
    Device(Target target, int ordinal, std::string name, std::int64_t memory_bytes)
        : target_(std::move(target)), ordinal_(ordinal), name_(std::move(name)), memory_bytes_(memory_bytes) {}
    Target target_;
    int ordinal_ = 0;
    std::string name_;
    std::int64_t memory_bytes_ = 0;
};

/// A driver, as `trifold doctor` prints it.
struct DriverReport {
    std::string driver;           ///< newest CUDA version the driver serves, or the version of HIP, such as "13.0"; empty: no driver
    std::string problem;          ///< why there is no device, and what to do; empty: there is one
    std::vector<Device> devices;  ///< that code can be generated for, by ordinal
};
/// Never throws for what is missing.
DriverReport probe_cuda();
DriverReport probe_hip();

/// Runs tasks 0 .. tasks - 1, possibly in parallel, worker numbers below the Program's workers, and returns when all have ended.
using Executor = std::function<void(std::int64_t tasks, const std::function<void(std::int64_t task, int worker)>& run)>;

}  // namespace trifold
