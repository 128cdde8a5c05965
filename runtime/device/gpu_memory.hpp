#pragma once
#include <fmt/format.h>

#include <string_view>
#include <trifold/error.hpp>
#include <trifold/program.hpp>

#include "runtime/device/gpu_driver.hpp"
#include "runtime/device/stream_timer.hpp"

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

/// By two events of a device, whose context must outlive this. start() and stop() need the context to be current.
class EventTimer final : public StreamTimer {
  public:
    /// Needs the context to be current.
    explicit EventTimer(const Context& context)
        : context_(context), driver_(context.driver()), first_(driver_.create_event()), last_(driver_.create_event()) {}
    ~EventTimer() override {
        try {
            const Current current(context_);
            driver_.destroy_event(first_);
            driver_.destroy_event(last_);
        } catch (const Error&) {
            // The driver has shut down and freed everything.
        }
    }
    EventTimer(const EventTimer&) = delete;
    EventTimer& operator=(const EventTimer&) = delete;
    void start(void* stream) noexcept override {
        stopped_ = false;
        started_ = first_ != nullptr && last_ != nullptr && driver_.record(first_, stream);
    }
    void stop(void* stream) noexcept override { stopped_ = started_ && driver_.record(last_, stream); }
    std::optional<double> seconds() noexcept override try {
        if (!stopped_) return std::nullopt;
        const Current current(context_);
        return driver_.seconds_between(first_, last_);
    } catch (const Error&) {
        return std::nullopt;
    }

  private:
    const Context& context_;
    const Driver& driver_;
    void* first_;  // events; null where the driver has none
    void* last_;
    bool started_ = false, stopped_ = false;
};

}  // namespace trifold::gpu
