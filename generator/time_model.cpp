#include <algorithm>
#include <cmath>
#include <limits>
#include <trifold/cost.hpp>

#include "generator/backend.hpp"

namespace trifold {
namespace {

// One CPU worker, in seconds and flops a second. A register tile keeps two fused multiply-adds a cycle busy at 3 GHz once n is
// well above the vector width; the small triangular kernels of a front never reach that, hence the half-speed size.
constexpr double cpu_cycles = 3e9, cpu_half_speed_vectors = 2;
constexpr double cpu_front_seconds = 20e-9;  // loop and call overhead of one front
constexpr double cpu_level_seconds = 50e-9;  // one more pass over the launch list
constexpr double cpu_fork_seconds = 1.5e-6;  // waking spinning workers and waiting for the last

// An NVIDIA H200 (docs/performance-cuda.md has the measurements). Other architectures rank schedules alike.
constexpr std::int64_t shared_bytes = std::int64_t{227} * 1024, blocks_per_multiprocessor = 8;
constexpr double gpu_level_seconds = 1.04e-6;  // one more graph node of 132 thread blocks
constexpr double gpu_move_seconds = 0.6e-6;    // load of a front's blocks and store of its factors, latency
constexpr double gpu_bytes_per_second = 4.27e12;
constexpr double gpu_efficiency = 0.3;  // of the arithmetic peak that updates of one front reach in one thread block

struct GpuRates {
    double flops_per_second;  ///< whole device
    double column_seconds;    ///< of a panel, whose columns depend on one another
};

GpuRates gpu_rates(Precision precision) {
    if (precision == Precision::f32) return {55.7e12 * gpu_efficiency, 0.8e-6};
    return {66.6e12 * gpu_efficiency, 0.35e-6};
}

double flops(std::int64_t thirds, std::int64_t block) {
    const auto n = static_cast<double>(block);
    return static_cast<double>(thirds) / 3 * n * n * n;
}

double cpu_flops_per_second(const Spec& spec, const Target& target) {
    const auto lanes = static_cast<double>(vector_bytes(target)) / static_cast<double>(element_bytes(spec.precision));
    const auto n = static_cast<double>(spec.block);
    return 4 * lanes * cpu_cycles * n / (n + cpu_half_speed_vectors * lanes);
}

/// A batch fills the workers by itself; one system has only the chains of a level.
double cpu_seconds(const Cost& cost, const Spec& spec, const Target& target, std::int64_t workers) {
    const auto rate = cpu_flops_per_second(spec, target);
    const auto batch = static_cast<double>(spec.batch);
    double seconds = 0;
    for (const auto& level : cost.levels) {
        const auto total = flops(level.counts.thirds(), spec.block) / rate + static_cast<double>(level.fronts) * cpu_front_seconds;
        const auto one_system = [&](std::int64_t thirds) {
            return total * static_cast<double>(thirds) / static_cast<double>(level.counts.thirds());
        };
        seconds += cpu_level_seconds + (workers > 1 ? cpu_fork_seconds : 0);
        seconds += spec.batch == 1 ? one_system(level.makespan_thirds)
                                   : std::max(one_system(level.longest_thirds), batch * total / static_cast<double>(workers));
    }
    return seconds;
}

/// The single launch of all levels (variant dataflow): its depth, or the fronts through all multiprocessors. Fitted at n = 8 to 64. Wide
/// levels by themselves come before the depth of the others: fitted to single systems of n = 8 to 64, since batches of them were not
/// measured.
double flow_seconds(const Schedule& schedule, const Spec& spec, const Target& target) {
    const auto n = static_cast<double>(spec.block);
    const auto levels = static_cast<std::int64_t>(schedule.levels.size()), wide = cuda::wide_levels(spec, target);
    const auto depth = [&](std::int64_t of) { return static_cast<double>(of) * (2e-6 + n * 0.08e-6); };
    const auto fronts = static_cast<double>(schedule.horizon) * static_cast<double>(spec.batch);
    if (spec.batch == 1 && wide > 0) {
        const auto padded = (spec.block + 7) / 8 * 8;
        const bool single = spec.precision == Precision::f32;
        const double element_seconds = padded <= 32 ? (single ? 1.35e-9 : 2.2e-9) : (single ? 3e-9 : 3.5e-9);
        return depth(levels - wide) + fronts * (0.22e-6 + static_cast<double>(padded * padded) * element_seconds) / multiprocessors;
    }
    return std::max(depth(levels), fronts * (1e-6 + n * 0.13e-6) / multiprocessors);
}

/// Tiles of 64 by 64 (variant tile-dataflow), factorization and solve. A level's products and tasks go through all multiprocessors, beside
/// its chain of tile columns: either hides most of the other, but less where there are only longer chains. Both sweeps read the factors,
/// beside all levels' tile columns. Fitted at n = 128 to 1024.
double tile_seconds(const Schedule& schedule, const Cost& cost, const Spec& spec) {
    struct Rates {
        double flops_per_second, task_seconds, column_seconds;
        double power;    ///< 1: nothing is hidden, infinity: all of the shorter of the two
        double chained;  ///< factor of a level with longer chains: thread blocks wait for them, and have fewer sources to wait for
    };
    const auto rates = spec.precision == Precision::f32 ? Rates{100e12, 27.5e-9, 14.5e-6, 8, 1.1} : Rates{30e12, 33e-9, 31e-6, 4, 0.98};
    const auto columns = (spec.block + 63) / 64, padded = columns * 64;
    const auto batch = static_cast<double>(spec.batch);
    double seconds = 0, swept = 0, fronts = 0;
    for (std::size_t k = 0; k < cost.levels.size(); ++k) {
        const auto& level = schedule.levels[k];
        const auto tasks = static_cast<double>(cost.levels[k].fronts * (columns * (columns + 1) / 2 + 2 * columns * columns));
        const auto work = batch * (flops(cost.levels[k].counts.thirds(), padded) / rates.flops_per_second + tasks * rates.task_seconds);
        const auto path = static_cast<double>(level.longest() * columns);
        const bool chained = level.longest() > 2;
        const bool alone = chained && std::ranges::none_of(level.runs, [](const Run& run) { return run.length == 1; });
        const double power = alone ? 2 : rates.power, column_seconds = alone ? 35e-6 : rates.column_seconds;
        seconds += (chained ? rates.chained : 1) * std::pow(std::pow(work, power) + std::pow(path * column_seconds, power), 1 / power);
        swept += path * (alone ? 11e-6 : 4.5e-6);
        fronts += batch * static_cast<double>(cost.levels[k].fronts);
    }
    const auto bytes = 2 * 2.5 * static_cast<double>(padded * padded * element_bytes(spec.precision)) * fronts;
    return seconds + std::hypot(bytes / gpu_bytes_per_second, swept);
}

/// One thread block a chain. A level takes as long as its waves of chains, or as its arithmetic, or as its traffic.
double gpu_seconds(const Schedule& schedule, const Cost& cost, const Spec& spec) {
    const auto rates = gpu_rates(spec.precision);
    const auto n = spec.block;
    const auto front_bytes = 3 * n * n * element_bytes(spec.precision);
    const auto slots = multiprocessors * std::clamp<std::int64_t>(shared_bytes / front_bytes, 1, blocks_per_multiprocessor);
    const auto batch = static_cast<double>(spec.batch);
    double seconds = 0;
    for (std::size_t k = 0; k < cost.levels.size(); ++k) {
        const auto& level = cost.levels[k];
        const auto chain =
            static_cast<double>(schedule.levels[k].longest()) * (gpu_move_seconds + static_cast<double>(n) * rates.column_seconds) +
            flops(level.longest_thirds, n) / (rates.flops_per_second / multiprocessors);
        const auto waves = std::ceil(static_cast<double>(level.chains) * batch / static_cast<double>(slots));
        const auto arithmetic = flops(level.counts.thirds(), n) * batch / rates.flops_per_second;
        const auto traffic = static_cast<double>(level.bytes) * batch / gpu_bytes_per_second;
        seconds += gpu_level_seconds + std::max({waves * chain, arithmetic, traffic});
    }
    return seconds;
}

/// Teams of lanes: a level's longest chain, or all its blocks through the memory; fill leaves room for fewer teams. Fitted to batches of
/// n = 4 to 16 and to horizons of 16384 to 262144 blocks of n = 1 to 16, whose fill makes a front longer.
double team_seconds(const Schedule& schedule, const Cost& cost, const Spec& spec) {
    constexpr double level_seconds = 3e-6;  // launch, and what a chain finds below and leaves above
    const auto n = static_cast<double>(spec.block);
    const double front_seconds = 1e-6 + (has_fill(schedule) ? n * n * 0.028e-6 : n * 0.14e-6);
    const double bytes_per_second = (has_fill(schedule) ? 0.4 : 0.6) * gpu_bytes_per_second;
    double seconds = 0;
    for (std::size_t k = 0; k < cost.levels.size(); ++k)
        seconds += level_seconds + std::max(static_cast<double>(schedule.levels[k].longest()) * front_seconds,
                                            static_cast<double>(cost.levels[k].bytes * spec.batch) / bytes_per_second);
    return seconds;
}

/// Lengths of end chains, half as long from one level to the next.
std::vector<std::int64_t> halved(std::int64_t longest) {
    std::vector<std::int64_t> lengths;
    for (; longest > 1; longest /= 2) lengths.push_back(longest);
    return lengths;
}

/// The simplest orders first: a later one has to be faster.
std::vector<Schedule> candidates(const Spec& spec, const Target& target, std::int64_t workers) {
    const auto horizon = spec.horizon;
    const auto most_chains = target.backend == Backend::cpu ? workers : 2 * multiprocessors;
    std::vector<Schedule> result{sequential(horizon)};
    for (std::int64_t chains = 2; chains <= std::min(most_chains, (horizon + 1) / 2); chains += std::max<std::int64_t>(1, chains / 4)) {
        result.push_back(twisted(horizon, chains));
        result.push_back(partitioned(horizon, chains));
    }
    if (most_chains == 1) return result;
    result.push_back(twisted(horizon, most_chains));
    result.push_back(partitioned(horizon, most_chains));
    result.push_back(multi_stage(horizon));
    // End chains of smaller blocks gained nothing (docs/performance-cuda.md).
    if (target.backend == Backend::cuda && spec.block >= 256 && cuda::tiles_flow(spec, target, result.back()))
        for (std::int64_t ends = 4; ends <= horizon / 6; ends *= 2)
            for (const auto longest : {ends, ends + ends / 2}) result.push_back(flanked(horizon, halved(longest)));
    for (std::int64_t length = 1; length < horizon; length += std::max<std::int64_t>(1, length / 4)) {
        result.push_back(recursive(horizon, length, length));
    }
    return result;
}

}  // namespace

double modelled_seconds(const Schedule& schedule, const Spec& spec, const Target& target, std::int64_t workers) {
    const auto counted = cost(schedule, spec, workers);
    if (target.backend == Backend::cpu) return cpu_seconds(counted, spec, target, workers);
    if (cuda::tiles_flow(spec, target, schedule)) return tile_seconds(schedule, counted, spec);
    if (cuda::teams_up(spec, target, schedule)) return team_seconds(schedule, counted, spec);
    const auto by_level = gpu_seconds(schedule, counted, spec);
    return cuda::flows(spec, target, schedule) ? std::min(by_level, flow_seconds(schedule, spec, target)) : by_level;
}

Schedule choose_schedule(const Spec& spec, const Target& target, std::int64_t workers) {
    Schedule best;
    double least = std::numeric_limits<double>::infinity();
    for (auto& schedule : candidates(spec, target, workers)) {
        const auto seconds = modelled_seconds(schedule, spec, target, workers);
        if (seconds < least) {
            least = seconds;
            best = std::move(schedule);
        }
    }
    return best;
}

}  // namespace trifold
