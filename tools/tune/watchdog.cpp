#include "tools/tune/watchdog.hpp"

#include <fmt/format.h>
#include <unistd.h>

namespace trifold::tune {

Watchdog::Watchdog(double seconds, std::function<void(const Trial&)> expired) : seconds_(seconds), expired_(std::move(expired)) {
    thread_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
}

Watchdog::~Watchdog() = default;

void Watchdog::arm(const Trial& trial) {
    const std::scoped_lock lock(mutex_);
    trial_ = trial;
    end_ = std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(seconds_);
    changed_.notify_all();
}

void Watchdog::disarm() {
    const std::scoped_lock lock(mutex_);
    trial_.reset();
    changed_.notify_all();
}

void Watchdog::watch(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
        if (!trial_) {
            changed_.wait(lock, stop, [&] { return trial_.has_value(); });
            continue;
        }
        const auto end = end_;
        changed_.wait_until(lock, stop, end, [&] { return !trial_ || end_ != end; });
        if (stop.stop_requested() || !trial_ || std::chrono::steady_clock::now() < end_) continue;
        trial_->verdict = Verdict::times_out;
        trial_->seconds.clear();
        trial_->why = fmt::format("it had not ended after {:g} s on the device", seconds_.count());
        expired_(*trial_);
        ::_exit(3);
    }
}

}  // namespace trifold::tune
