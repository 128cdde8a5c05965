#pragma once
#include "runtime/device/gpu_driver.hpp"

namespace trifold::gpu {

/// The code of a Program's units in a device's primary context; what Loaded::module points to.
class Module {
  public:
    Module(const Driver& driver, int ordinal, std::vector<std::string> code);
    ~Module();
    Module(const Module&) = delete;
    Module& operator=(const Module&) = delete;
    const Context& context() const { return context_; }
    /// Null when the unit has no such kernel.
    void* function(std::size_t unit, const std::string& name) const { return context_.driver().find_function(modules_.at(unit), name); }

  private:
    void unload() noexcept;
    Context context_;
    std::vector<std::string> code_;  // the driver may come back to them
    std::vector<void*> modules_;
};

}  // namespace trifold::gpu
