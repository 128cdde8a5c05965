#pragma once
#include "runtime/gpu_driver.hpp"

namespace trifold::gpu {

/// A Binary's images in a device's primary context; what Plan::State::module points to.
class Module {
  public:
    Module(const Driver& driver, int ordinal, const std::vector<std::string>& images);
    ~Module();
    Module(const Module&) = delete;
    Module& operator=(const Module&) = delete;
    const Context& context() const { return context_; }
    /// Null when the image has no such kernel.
    void* function(std::size_t image, const std::string& name) const { return context_.driver().find_function(modules_.at(image), name); }

  private:
    void unload() noexcept;
    Context context_;
    std::vector<std::string> images_;  // the driver may come back to them
    std::vector<void*> modules_;
};

}  // namespace trifold::gpu
