#pragma once
#include "runtime/device/code.hpp"

namespace trifold {

/// Code of a CPU.
class HostCode final : public Code {
  public:
    /// Throws CompileError when the binary cannot be loaded here.
    explicit HostCode(const Binary& binary) : Code(binary), module_(binary) {}
    void* function(const Kernel& kernel) const override { return module_.symbol(kernel.name); }

  private:
    HostModule module_;
};

}  // namespace trifold
