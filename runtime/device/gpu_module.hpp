#pragma once
#include <map>
#include <mutex>
#include <trifold/program.hpp>

#include "runtime/device/code.hpp"
#include "runtime/device/gpu_driver.hpp"

namespace trifold::gpu {

/// Code in a device's primary context. Throws DeviceError where it cannot be loaded.
class Module final : public Code {
  public:
    Module(const Driver& driver, int ordinal, const Binary& binary);
    ~Module() override;
    void* function(const Kernel& kernel) const override;

  private:
    void allow_shared(void* function, int bytes) const;
    Context context_;
    std::string code_;  // the driver may come back to it
    void* module_ = nullptr;
    mutable std::mutex mutex_;
    mutable std::map<void*, int> shared_;  // dynamic shared memory that functions may have
};

/// Throws SpecError where a launch is larger than a grid can be. `members` is the batch's capacity.
void check_grids(const Program& program, std::int64_t members);

}  // namespace trifold::gpu
