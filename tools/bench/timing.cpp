#include "tools/bench/timing.hpp"

#include <chrono>
#include <thread>

namespace trifold::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int warm_up = 3;
constexpr double short_call = 2e-3;  // seconds: longer ones do not notice how fast the host enqueues them

double time_once(DeviceTools& tools, const Step& step) {
    if (step.prepare) step.prepare();
    tools.start();
    step.call();
    return tools.stop() * 1e-3;
}

}  // namespace

std::vector<double> time_step(DeviceTools& tools, const Step& step, const Budget& budget) {
    if (step.once) return {time_once(tools, step)};
    double last = 0;
    for (int k = 0; k < warm_up && last < budget.seconds; ++k) last = time_once(tools, step);
    const bool ahead = tools.stream() != nullptr && last < short_call;
    std::vector<double> seconds;
    for (double total = 0; seconds.size() < budget.least_runs || (total < budget.seconds && seconds.size() < budget.most_runs);) {
        if (ahead) {
            if (step.prepare) step.prepare();
            step.call();
        }
        seconds.push_back(time_once(tools, step));
        total += seconds.back();
    }
    return seconds;
}

std::vector<double> time_calls(const std::function<double()>& timed, double period, const Budget& budget) {
    const auto gap = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(period));
    std::vector<double> seconds;
    for (int k = 0; k < warm_up; ++k) timed();
    auto due = Clock::now();
    const auto end = due + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(budget.seconds));
    while (seconds.size() < budget.least_runs || due < end) {
        due = std::max(due + gap, Clock::now());
        std::this_thread::sleep_until(due);
        seconds.push_back(timed());
    }
    return seconds;
}

std::function<double()> by_host_clock(const DeviceTools& tools, std::function<void()> call) {
    return [&tools, call = std::move(call)] {
        const auto begin = Clock::now();
        call();
        tools.synchronize();
        return std::chrono::duration<double>(Clock::now() - begin).count();
    };
}

}  // namespace trifold::bench
