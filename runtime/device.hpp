#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "generator/target.hpp"

namespace trifold {

/// Where a Plan runs. A CUDA device is its primary context; the caller's current context is restored after every call.
class Device {
  public:
    /// This machine's processor; `target().arch` is the highest psABI level it has.
    static Device cpu();
    /// Throws DeviceError (no driver, no such device) saying what was found and what to install.
    static Device cuda(int ordinal = 0);
    /// "auto" (the best device found), "cpu", "cuda" or "cuda:1".
    static Device parse(std::string_view text);

    Backend backend() const { return target_.backend; }
    const Target& target() const { return target_; }
    int ordinal() const { return ordinal_; }
    std::string name() const;  ///< such as "NVIDIA H200" or "cpu:x86-64-v4"

  private:
    Device(Target target, int ordinal) : target_(std::move(target)), ordinal_(ordinal) {}
    Target target_;
    int ordinal_ = 0;
};

}  // namespace trifold
