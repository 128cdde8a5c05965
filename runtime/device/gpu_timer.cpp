#include "runtime/device/gpu_timer.hpp"

#include <trifold/error.hpp>

namespace trifold::gpu {

EventTimer::EventTimer(const Context& context)
    : context_(context), driver_(context.driver()), first_(driver_.create_event()), last_(driver_.create_event()) {}

EventTimer::~EventTimer() {
    try {
        const Current current(context_);
        driver_.destroy_event(first_);
        driver_.destroy_event(last_);
    } catch (const Error&) {
        // The driver has shut down and freed everything.
    }
}

void EventTimer::start(void* stream) noexcept {
    stopped_ = false;
    started_ = first_ != nullptr && last_ != nullptr && driver_.record(first_, stream);
}

void EventTimer::stop(void* stream) noexcept { stopped_ = started_ && driver_.record(last_, stream); }

std::optional<double> EventTimer::seconds() noexcept try {
    if (!stopped_) return std::nullopt;
    const Current current(context_);
    return driver_.seconds_between(first_, last_);
} catch (const Error&) {
    return std::nullopt;
}

}  // namespace trifold::gpu
