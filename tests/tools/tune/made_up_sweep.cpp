#include "tests/tools/tune/made_up_sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "tools/tune/tridiagonal/spec.hpp"

namespace trifold::tests {
namespace {

using namespace tune;

const Machine machines[] = {{"NVIDIA H200", "cuda:sm_90", "580.65 (CUDA 13.0)"}, {"AMD EPYC 9374F", "cpu:znver4", ""}};
const std::int64_t blocks[] = {4, 8, 12, 20, 32, 48, 64, 96}, horizons[] = {16, 50, 128, 512}, batches[] = {1, 16, 256};

/// All combinations, the machine's first, cut off after so many.
std::vector<std::pair<Machine, Point>> points_of(std::size_t count) {
    std::vector<std::pair<Machine, Point>> points;
    for (const auto& machine : machines)
        for (const auto precision : {Precision::f64, Precision::f32})
            for (const auto batch : batches)
                for (const auto horizon : horizons)
                    for (const auto block : blocks)
                        if (points.size() < count)
                            points.emplace_back(machine, tune::tridiagonal::point_of(
                                                             {.block = block, .horizon = horizon, .precision = precision, .batch = batch}));
    return points;
}

/// Candidates in the order in which they are tried; the first is the default.
std::vector<Candidate> candidates_of(const Machine& machine, std::size_t count) {
    const bool is_gpu = machine.driver != "";
    std::vector<Candidate> all;
    for (const auto* schedule : {"multi-stage", "twisted:2", "partitioned:4", "sequential", "recursive:3"})
        for (const auto* variant :
             {"dataflow", "team", "tiled", "dataflow:wide_levels=2", "team:team_warps=4", "dataflow:messages_from=1", "team:team_warps=8"})
            all.push_back({schedule, is_gpu ? variant : variant[0] == 'd' ? "lanes" : "tile"});
    if (!is_gpu) {
        all = {{"sequential", "lanes"}, {"sequential", "tile"}, {"twisted:2", "lanes"}, {"twisted:2", "tile"}};
        for (const auto* schedule : {"sequential", "twisted:2", "partitioned:4"})
            for (const auto* variant : {"tile:halves=1", "tile:strips=8", "tile:strips=16", "lanes:lanes=4", "lanes:lanes=8"})
                all.push_back({schedule, variant});
    }
    if (all.size() > count) all.resize(count);
    return all;
}

/// Chains are quick where batches are large, levels where one system is long; each knob helps some sizes.
double modelled(const Machine& machine, const Point& point, const Candidate& candidate) {
    const auto n = static_cast<double>(number_in(point, "block")), N = static_cast<double>(number_in(point, "horizon")),
               batch = static_cast<double>(number_in(point, "batch"));
    const bool is_chain = candidate.schedule == "sequential" || candidate.schedule == "twisted:2";
    const auto width = machine.driver.empty() ? 1.0 : 132.0;
    const auto fronts = N * batch,
               front = 2e-7 + 1.2e-11 * n * n * n * (precision_of(point) == Precision::f64 ? 1 : 0.6) * (width == 1 ? 20 : 1);
    const auto latency = (is_chain ? N / (candidate.schedule == "twisted:2" ? 2 : 1) : 4 * std::log2(N + 1)) * front * 6;
    const auto work = fronts * front * (is_chain ? 1.0 : 2.4) / width + 2e-6;
    auto factor = 1.0;
    if (candidate.variant.starts_with("team") || candidate.variant.starts_with("tile")) factor = n < 16 ? 0.8 : 1.35;
    if (candidate.variant.starts_with("tiled")) factor = n > 40 ? 0.75 : 1.6;
    if (candidate.variant.ends_with("wide_levels=2")) factor *= N > 100 ? 0.88 : 1.07;
    if (candidate.variant.ends_with("messages_from=1")) factor *= 1.01;
    if (candidate.variant.ends_with("8")) factor *= batch > 10 ? 0.9 : 1.2;
    return (latency + work) * factor;
}

struct Failed {
    Verdict verdict;
    const char* why;
};
const Failed failures[] = {
    {Verdict::spilled, "kernel factor_level spills 184 bytes of registers; the default spills none"},
    {Verdict::does_not_compile, "nvrtc: error: too much shared data (0x3a400 bytes, 0x38c00 max) in entry function 'trifold_factor'"},
    {Verdict::times_out, "no answer within 20 s"},
    {Verdict::refused, "variant 'tiled' takes n from 16 to 128; give another variant"},
    {Verdict::disagrees, "solve: relative difference 3.1e-09 to the default, above 1e-12"}};

}  // namespace

Records made_up_sweep(std::uint64_t seed, int points, int trials_of_each) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> noise(0, 0.01);
    std::uniform_real_distribution<double> chance(0, 1);
    Records records;
    for (const auto& [machine, point] : points_of(static_cast<std::size_t>(points))) {
        const auto candidates = candidates_of(machine, static_cast<std::size_t>(trials_of_each));
        Decision decision{machine, "0.9.0-1a2b3c4d", point, candidates[0], candidates[0]};
        for (const auto& candidate : candidates) {
            Trial trial{machine, decision.generator, point, candidate, candidate == candidates[0], "first"};
            trial.took = 0.5 + 2 * chance(random);
            if (!trial.is_default && chance(random) < 0.06) {
                const auto& failed = failures[static_cast<std::size_t>(chance(random) * std::size(failures))];
                trial.verdict = failed.verdict;
                trial.why = failed.why;
                records.trials.push_back(trial);
                continue;
            }
            const auto seconds = modelled(machine, point, candidate) * std::exp(noise(random));
            trial.seconds["factor_solve"] = seconds;
            trial.spread = 0.002 + 0.01 * chance(random);
            trial.runs = 40;
            trial.residual = 1e-15;
            records.trials.push_back(trial);
            if (trial.is_default) decision.standard_seconds = decision.seconds = seconds;
            if (seconds < decision.seconds) {
                decision.winner = candidate;
                decision.seconds = seconds;
            }
        }
        if (decision.gain() < 1.02) {
            decision.winner = decision.standard;
            decision.seconds = decision.standard_seconds;
        }
        decision.spread = 0.004;
        decision.trials = static_cast<int>(candidates.size());
        decision.effort = "full";
        records.decisions.push_back(decision);
    }
    return records;
}

}  // namespace trifold::tests
