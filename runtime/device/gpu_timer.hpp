#pragma once
#include <trifold/error.hpp>

#include "runtime/device/gpu_driver.hpp"
#include "runtime/device/stream_timer.hpp"

namespace trifold::gpu {

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
