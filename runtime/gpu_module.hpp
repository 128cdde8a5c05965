#pragma once
#include "runtime/gpu_driver.hpp"

namespace trifold::gpu {

/// A binary in a device's primary context; what Plan::State::module points to.
class Module {
  public:
    Module(const Driver& driver, int ordinal, const std::string& image);
    ~Module();
    Module(const Module&) = delete;
    Module& operator=(const Module&) = delete;
    const Context& context() const { return context_; }
    /// Null when there is no such kernel.
    void* function(const std::string& name) const { return context_.driver().find_function(module_, name); }

  private:
    Context context_;
    std::string image_;  // the driver may come back to it
    void* module_ = nullptr;
};

}  // namespace trifold::gpu
