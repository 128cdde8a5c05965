#pragma once
#include "runtime/device/gpu_driver.hpp"
#include "runtime/device/stream_timer.hpp"

namespace trifold::gpu {

/// By two events of a device, whose context must outlive this. start() and stop() need the context to be current.
class EventTimer final : public StreamTimer {
  public:
    /// Needs the context to be current.
    explicit EventTimer(const Context& context);
    ~EventTimer() override;
    EventTimer(const EventTimer&) = delete;
    EventTimer& operator=(const EventTimer&) = delete;
    void start(void* stream) noexcept override;
    void stop(void* stream) noexcept override;
    std::optional<double> seconds() noexcept override;

  private:
    const Context& context_;
    const Driver& driver_;
    void* first_;  // events; null where the driver has none
    void* last_;
    bool started_ = false, stopped_ = false;
};

}  // namespace trifold::gpu
