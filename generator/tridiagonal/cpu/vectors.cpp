#include "generator/tridiagonal/cpu/vectors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <trifold/cost.hpp>

namespace trifold::cpu {
namespace {

/// Lanes of a vector that ends at a column's last row, then of a zero vector: the rows of the last, partial vector, padded.
std::string shift(std::int64_t block, std::int64_t lanes) {
    std::vector<std::int64_t> list;
    for (std::int64_t lane = 0; lane < lanes; ++lane) list.push_back(lane + lanes - block % lanes);
    return fmt::format("{}", fmt::join(list, ", "));
}

/// Lanes of a pair of vectors, counted through both, that LOW_w and HIGH_w of common.c take.
std::string shuffle(std::int64_t lanes, std::int64_t w, bool high) {
    std::vector<std::int64_t> list;
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
        const auto start = lane / (2 * w) * (2 * w), offset = lane % (2 * w);
        list.push_back(start + offset % w + (offset < w ? 0 : lanes) + (high ? w : 0));
    }
    return fmt::format("{}", fmt::join(list, ", "));
}

double flops(std::int64_t thirds, std::int64_t block) {
    const auto n = static_cast<double>(block);
    return static_cast<double>(thirds) / 3 * n * n * n;
}

}  // namespace

Constant constant(std::string name, std::int64_t value) { return {std::move(name), fmt::format("{}", value)}; }

void add_shuffles(std::vector<Constant>& constants, std::int64_t lanes, std::int64_t block) {
    for (std::int64_t w = 1; w < lanes; w *= 2)
        for (const auto high : {false, true})
            constants.push_back({fmt::format("{}_{}", high ? "HIGH" : "LOW", w), shuffle(lanes, w, high)});
    constants.push_back({"SHIFT", shift(block, lanes)});
}

std::int64_t tile_side(const Spec& spec, const Target& target) {
    const auto n = spec.block;
    const std::int64_t widest = vector_registers(target) == 32 ? 4 : 3;
    if (n <= widest) return n;
    return n % 3 == 0 && n % 4 != 0 ? 3 : widest;
}

double filled_lanes(const Problem& problem) {
    const auto& spec = problem.spec;
    const auto at_a_time = problem.workers * vector_bytes(problem.target) / element_bytes(spec.precision);
    const auto times = (spec.batch + at_a_time - 1) / at_a_time;
    return static_cast<double>(spec.batch) / static_cast<double>(times * at_a_time);
}

/// A batch fills the workers by itself; one system has only the chains of a level.
double worker_seconds(const Problem& problem, const KnownDevice& device) {
    const auto& [spec, target, schedule, workers, knobs] = problem;
    const auto number = [&](const char* name) { return device.number(fmt::format("models.worker.{}", name)); };
    const auto counted = cost(schedule, spec, workers);
    const auto lanes = static_cast<double>(vector_bytes(target)) / static_cast<double>(element_bytes(spec.precision));
    const auto n = static_cast<double>(spec.block), batch = static_cast<double>(spec.batch);
    const auto rate =
        number("flops_per_cycle_and_lane") * lanes * number("cycles_per_second") * n / (n + number("half_speed_vectors") * lanes);
    double seconds = 0;
    for (const auto& level : counted.levels) {
        const auto total = flops(level.counts.thirds(), spec.block) / rate + static_cast<double>(level.fronts) * number("front_seconds");
        const auto one_system = [&](std::int64_t thirds) {
            return total * static_cast<double>(thirds) / static_cast<double>(level.counts.thirds());
        };
        seconds += number("level_seconds") + (workers > 1 ? number("fork_seconds") : 0);
        seconds += spec.batch == 1 ? one_system(level.makespan_thirds)
                                   : std::max(one_system(level.longest_thirds), batch * total / static_cast<double>(workers));
    }
    return seconds;
}

}  // namespace trifold::cpu
