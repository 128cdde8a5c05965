#pragma once
#include <memory>
#include <optional>
#include <trifold/binary.hpp>
#include <trifold/device.hpp>

#include "runtime/base/gauges.hpp"

namespace trifold {

/// The code of one unit, loaded on one device. Plans that need it share it while one of them lives.
class Code {
  public:
    virtual ~Code() = default;
    Code(const Code&) = delete;
    Code& operator=(const Code&) = delete;
    /// The entry point of a kernel, ready to be launched as the Kernel says. Throws CompileError where there is none, DeviceError where the
    /// device cannot hold one of its thread blocks.
    virtual void* function(const Kernel& kernel) const = 0;

    const std::string compiler;
    const bool prebuilt;
    const std::vector<KernelResources> kernels;

  protected:
    explicit Code(const Binary& binary)
        : compiler(binary.compiler),
          prebuilt(binary.prebuilt),
          kernels(binary.kernels),
          gauged_(gauges.modules, static_cast<std::int64_t>(binary.code.size())) {}

  private:
    Gauged gauged_;
};

/// A unit's code as somebody was given it.
struct LoadedCode {
    std::shared_ptr<const Code> code;
    bool cache_hit = true;    ///< nothing was compiled for it
    double load_seconds = 0;  ///< 0 where it was loaded already
};
LoadedCode load(const Binary& binary, const Device& device);
/// The code that a living plan has, else that of the unit's binary, as obtain() gives it.
LoadedCode load(const Unit& unit, const Device& device);
/// Nothing where it would have to be compiled.
std::optional<LoadedCode> load_cached(const Unit& unit, const Device& device);

}  // namespace trifold
