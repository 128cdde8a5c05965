#include "generator/tridiagonal/gpu/model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <trifold/cost.hpp>

namespace trifold::gpu {
namespace {

/// Whether chains of a run carry fill. Its first and last one are asked, since one of them may be at the end of the path and carry none.
bool has_fill(const Level& level, const Run& run) {
    return chain_fronts(level, run, 0).front().behind >= 0 || chain_fronts(level, run, run.count - 1).front().behind >= 0;
}

}  // namespace

std::vector<LevelLoad> loads_of(const Problem& problem) {
    const auto counted = cost(problem.schedule, problem.spec, problem.workers);
    const auto batch = static_cast<double>(problem.spec.batch);
    std::vector<LevelLoad> result;
    for (std::size_t k = 0; k < counted.levels.size(); ++k) {
        const auto& level = problem.schedule.levels[k];
        const auto& count = counted.levels[k];
        LevelLoad load{.chains = batch * static_cast<double>(count.chains),
                       .fronts = batch * static_cast<double>(count.fronts),
                       .longest = static_cast<double>(level.longest()),
                       .thirds = batch * static_cast<double>(count.counts.thirds()),
                       .longest_thirds = static_cast<double>(count.longest_thirds)};
        if (!level.runs.empty() && level.runs.back().count == 1)
            load.tail = static_cast<double>(std::max<std::int64_t>(level.runs.back().length - level.runs.front().length, 0));
        for (const auto& run : level.runs) {
            const bool fill = has_fill(level, run);
            load.has_fill |= fill;
            load.longest_has_fill |= fill && run.length == level.longest();
        }
        result.push_back(load);
    }
    return result;
}

Model::Model(const KnownDevice& device, std::string_view variant, const Problem& problem)
    : device_(device),
      path_(fmt::format("models.{}.", variant)),
      precision_(to_string(problem.spec.precision)),
      multiprocessors_(device.number("facts.multiprocessors")),
      cycles_per_second_(device.number("facts.cycles_per_second")),
      bytes_a_cycle_(device.number("facts.bytes_per_second") / cycles_per_second_) {}

double Model::operator()(std::string_view name) const { return device_.number(fmt::format("{}{}", path_, name)); }

double Model::precise(std::string_view name) const { return device_.number(fmt::format("{}{}.{}", path_, precision_, name)); }

double together(double power, std::initializer_list<double> parts) {
    const auto longest = std::max(parts);
    if (longest <= 0) return 0;
    double sum = 0;
    for (const auto part : parts) sum += std::pow(part / longest, power);
    return longest * std::pow(sum, 1 / power);
}

double resident(const Problem& problem, std::int64_t blocks, std::int64_t shared_bytes) {
    const auto room = device_of(problem.target).count("facts.multiprocessor_shared_bytes") / (shared_bytes + kib);
    return static_cast<double>(std::max<std::int64_t>(std::min(blocks, room), 1));
}

double passes(const Problem& problem, const Sizes& sizes) {
    return static_cast<double>((problem.spec.rhs + sizes.columns - 1) / sizes.columns);
}

}  // namespace trifold::gpu
