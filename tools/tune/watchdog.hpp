#pragma once
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "tools/tune/trial.hpp"

namespace trifold::tune {

/// Ends the process where a trial never ends on the device: nothing else gets a thread out of a driver that waits.
class Watchdog {
  public:
    /// `expired` is called from a thread of the watchdog's own before the process ends with status 3.
    Watchdog(double seconds, std::function<void(const Trial&)> expired);
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;
    ~Watchdog();
    void arm(const Trial& trial);
    void disarm();

  private:
    void watch(const std::stop_token& stop);

    const std::chrono::duration<double> seconds_;
    const std::function<void(const Trial&)> expired_;
    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::optional<Trial> trial_;
    std::chrono::steady_clock::time_point end_;
    std::jthread thread_;  // the last member: it ends first
};

}  // namespace trifold::tune
