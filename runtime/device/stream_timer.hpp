#pragma once
#include <chrono>
#include <optional>

namespace trifold {

/// Times one piece of work after another, each on one stream. Never waits and never fails: what cannot be timed has no time.
class StreamTimer {
  public:
    virtual ~StreamTimer() = default;
    virtual void start(void* stream) noexcept = 0;
    virtual void stop(void* stream) noexcept = 0;
    /// Seconds of the last piece; nothing until it has ended.
    virtual std::optional<double> seconds() noexcept = 0;
};

/// For work that has ended when stop() is called: the host's clock.
class HostTimer final : public StreamTimer {
  public:
    void start(void*) noexcept override { start_ = std::chrono::steady_clock::now(); }
    void stop(void*) noexcept override { seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }
    std::optional<double> seconds() noexcept override { return seconds_; }

  private:
    std::chrono::steady_clock::time_point start_;
    std::optional<double> seconds_;
};

}  // namespace trifold
