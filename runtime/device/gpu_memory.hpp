#pragma once
#include <fmt/format.h>

#include <string_view>
#include <trifold/error.hpp>
#include <trifold/program.hpp>

#include "runtime/device/gpu_driver.hpp"

namespace trifold::gpu {

/// Device memory of the current context, which must be current again when it is freed.
class Memory {
  public:
    /// `remedy`: how to need less.
    Memory(const Context& context, std::int64_t bytes, std::string_view purpose, std::string_view remedy)
        : driver_(context.driver()), memory_(driver_.allocate(static_cast<std::size_t>(bytes))), bytes_(bytes) {
        if (memory_ != nullptr) return;
        std::size_t free = 0, total = 0;
        driver_.memory_info(free, total);
        throw DeviceError(fmt::format("{} needs {} bytes of device memory; {} has {} free of {}. Free some, or {}", purpose, bytes,
                                      driver_.device_name(context.ordinal()), free, total, remedy));
    }
    ~Memory() { driver_.free(memory_); }
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    void* get() const { return memory_; }
    std::int64_t bytes() const { return bytes_; }

  private:
    const Driver& driver_;
    void* memory_;
    std::int64_t bytes_;
};

class OwnStream {
  public:
    explicit OwnStream(const Driver& driver) : driver_(driver), stream_(driver.create_stream()) {}
    ~OwnStream() { driver_.destroy_stream(stream_); }
    OwnStream(const OwnStream&) = delete;
    OwnStream& operator=(const OwnStream&) = delete;
    void* get() const { return stream_; }

  private:
    const Driver& driver_;
    void* stream_;
};

}  // namespace trifold::gpu
