#include "tools/bench/timing.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

namespace trifold::bench {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr int warm_up = 3;
constexpr double short_call = 2e-3;   // seconds: longer ones do not notice how fast the host enqueues them
constexpr double warm = 1e-3;         // seconds of work after which data are in the caches
constexpr double long_enough = 3e-4;  // seconds of a run by the processor's clock

double time_once(DeviceTools& tools, const Step& step, int repeats = 1) {
    if (step.prepare) step.prepare();
    tools.start();
    for (int k = 0; k < repeats; ++k) step.call();
    return tools.stop() * 1e-3 / repeats;
}

}  // namespace

double now() { return Seconds(Clock::now().time_since_epoch()).count(); }

std::vector<double> time_step(DeviceTools& tools, const Step& step, const Budget& budget) {
    if (step.samples) return step.samples(budget);
    if (step.once) return {time_once(tools, step)};
    double last = 0;
    for (int k = 0; k < warm_up && last < budget.seconds; ++k) last = time_once(tools, step);
    const bool ahead = tools.stream() != nullptr && last < short_call;
    std::vector<double> seconds;
    for (double total = 0; seconds.size() < budget.min_runs || (total < budget.seconds && seconds.size() < budget.max_runs);) {
        if (ahead) {
            if (step.prepare) step.prepare();
            step.call();
        }
        seconds.push_back(time_once(tools, step));
        total += seconds.back();
    }
    return seconds;
}

std::vector<std::vector<double>> time_by_turns(DeviceTools& tools, const std::vector<Step>& steps, const Budget& budget) {
    std::vector<std::vector<double>> seconds(steps.size());
    std::vector<int> repeats;
    for (const auto& step : steps) {
        const auto first = time_once(tools, step);
        const bool repeats_alone = !step.prepare && !step.once;
        repeats.push_back(repeats_alone ? std::max(1, static_cast<int>(long_enough / std::max(first, 1e-9))) : 1);
    }
    const auto end = now() + budget.seconds * static_cast<double>(steps.size());
    for (std::size_t round = 0; round < budget.min_runs || (now() < end && round < budget.max_runs); ++round)
        for (std::size_t k = 0; k < steps.size(); ++k) {
            const auto awake = now() + warm;
            while (!steps[k].prepare && now() < awake) steps[k].call();
            seconds[k].push_back(time_once(tools, steps[k], repeats[k]));
        }
    return seconds;
}

std::vector<double> time_calls(const std::function<double()>& timed, double period, const Budget& budget) {
    const auto gap = std::chrono::duration_cast<Clock::duration>(Seconds(period));
    std::vector<double> seconds;
    for (int k = 0; k < warm_up; ++k) timed();
    auto due = Clock::now();
    const auto end = due + std::chrono::duration_cast<Clock::duration>(Seconds(budget.seconds));
    while (seconds.size() < budget.min_runs || due < end) {
        due = std::max(due + gap, Clock::now());
        std::this_thread::sleep_until(due);
        seconds.push_back(timed());
    }
    return seconds;
}

std::function<double()> by_host_clock(const DeviceTools& tools, std::function<void()> call) {
    return [&tools, call = std::move(call)] {
        const auto begin = now();
        call();
        tools.synchronize();
        return now() - begin;
    };
}

double largest(Transport& hosts, double mine) {
    const int first = 0;
    if (hosts.rank() != first) {
        hosts.send(first, &mine, sizeof mine);
        hosts.receive(first, &mine, sizeof mine);
        return mine;
    }
    for (int rank = 1; rank < hosts.ranks(); ++rank) {
        double other = 0;
        hosts.receive(rank, &other, sizeof other);
        mine = std::max(mine, other);
    }
    for (int rank = 1; rank < hosts.ranks(); ++rank) hosts.send(rank, &mine, sizeof mine);
    return mine;
}

std::vector<double> time_together(Transport& hosts, const DeviceTools& tools, const Step& step, const Budget& budget) {
    const auto run = [&](int calls) {
        largest(hosts, 0);  // all have come
        const auto begin = now();
        for (int k = 0; k < calls; ++k) step.call();
        tools.synchronize();
        return largest(hosts, now() - begin) / calls;
    };
    run(1);
    const auto once = std::max(run(1), 1e-9);  // the same on all ranks, and so is what follows from it
    const int calls = static_cast<int>(std::clamp(short_call / once, 1.0, 20.0));
    const auto runs = std::clamp<std::size_t>(static_cast<std::size_t>(budget.seconds / once / calls), budget.min_runs,
                                              std::max(budget.min_runs, budget.max_runs));
    std::vector<double> seconds;
    for (std::size_t k = 0; k < runs; ++k) seconds.push_back(run(calls));
    return seconds;
}

}  // namespace trifold::bench
