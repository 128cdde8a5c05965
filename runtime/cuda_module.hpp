#pragma once
#include "runtime/cuda_driver.hpp"

namespace trifold::cuda {

/// A cubin in a device's primary context; what Plan::State::module points to.
class Module {
  public:
    Module(int ordinal, const std::string& cubin);
    ~Module();
    Module(const Module&) = delete;
    Module& operator=(const Module&) = delete;
    const Context& context() const { return context_; }
    /// Null when there is no such kernel.
    CUfunction function(const std::string& name) const;

  private:
    Context context_;
    CUmodule module_ = nullptr;
};

}  // namespace trifold::cuda
