#pragma once
#include <string>
#include <string_view>

#include "runtime/device/gpu_memory.hpp"

namespace trifold::gpu {

/// Checks and records of a session's calls on one device. The context must be current in every call.
class Calls {
  public:
    /// `plan` and `device`: what the solver was made for, in messages.
    Calls(const Context& context, std::string_view plan, std::string device)
        : context_(context),
          driver_(context.driver()),
          plan_(plan),
          device_(std::move(device)),
          sees_host_memory_(driver_.reads_host_memory(context.ordinal())) {}

    /// The solver's own stream, which is one of this device.
    void begin_on(void* stream) { last_ = known_ = stream; }

    /// A stream seen for the first time must be one of this device.
    void check_stream(void* stream) {
        if (stream == known_) return;
        const auto ordinal = driver_.device_of(stream);
        if (ordinal != context_.ordinal())
            throw SpecError(fmt::format("the stream belongs to {}, and the {} was made for {} ({}:{})", driver_.device_name(ordinal), plan_,
                                        device_, to_string(driver_.backend()), context_.ordinal()));
        known_ = stream;
    }
    /// Host memory that the device cannot read would end the context with an illegal address.
    void check_pointer(const void* pointer, std::string_view what) const {
        if (pointer == nullptr || sees_host_memory_) return;
        if (!driver_.is_device_memory(pointer))
            throw SpecError(fmt::format("{} is not memory that {} can read; give device memory, or use the span overloads", what, device_));
    }
    /// Whether the stream records a graph of the caller's, which synchronize() then knows.
    bool captures(void* stream) {
        const bool capturing = driver_.is_capturing(stream);
        captured_ = captured_ || capturing;
        return capturing;
    }
    void note(void* stream) { last_ = stream; }
    void* last() const { return last_; }

    /// Waits for the last call. What was captured is replayed by the caller, on streams this does not know.
    void synchronize() const {
        if (captured_)
            driver_.synchronize_device();
        else
            driver_.synchronize_stream(last_);
    }
    /// Waits for everything, so that it can be freed.
    void wait_for_all() const noexcept try { driver_.synchronize_device(); } catch (const Error&) {
        // A kernel has failed; what it used can be freed all the same.
    }

  private:
    const Context& context_;
    const Driver& driver_;
    std::string_view plan_;
    std::string device_;
    bool sees_host_memory_;
    bool captured_ = false;  // a call was recorded into a graph of the caller's
    void* last_ = nullptr;   // stream of the last call
    void* known_ = nullptr;  // the last stream found to be of this device
};

}  // namespace trifold::gpu
