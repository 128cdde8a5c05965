#include "generator/cuda_tiles.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <trifold/program.hpp>

#include "generator/cuda_plan.hpp"

namespace trifold::cuda::tiles {
namespace {

constexpr std::int64_t most_groups = 1024;  // enough to fill any device; those that find no task end at once

/// The largest panel of a level, in blocks beside the pivot block.
std::int64_t panels(const Level& level) {
    std::int64_t most = 0;
    for (const auto& run : level.runs)
        for (const auto chain : {std::int64_t{0}, run.count - 1}) {
            const auto first = chain_fronts(level, run, chain).front();
            most = std::max(most, first.behind >= 0 ? 2 : std::int64_t{first.next >= 0});
        }
    return most;
}

/// Chains of one front, where the level has longer ones: those are claimed in turn, these spread between them.
struct Singles {
    std::int64_t first = 0, count = 0;  ///< numbers of chains
};

Singles singles(const Level& level) {
    std::int64_t first = 0;
    for (const auto& run : level.runs) {
        if (run.length == 1 && level.longest() > 1) return {first, run.count};
        first += run.count;
    }
    return {};
}

/// Tasks when each front of a level has `each(level)` tiles; those that chains shorter than the longest lack are counted too.
template <class Each>
std::int64_t tasks(const Schedule& schedule, const Spec& spec, const Each& each) {
    std::int64_t sum = 0;
    for (const auto& level : schedule.levels) {
        const auto single = singles(level).count;
        const auto fronts = checked_add(checked_multiply(level.longest(), level.chains() - single, "tiles"), single, "tiles");
        sum = checked_add(sum, checked_multiply(checked_multiply(fronts, spec.batch, "tiles"), each(level), "tiles"), "tiles");
    }
    return sum;
}

/// Tiles along a block's edge.
std::int64_t per_edge(const Spec& spec, std::int64_t edge) { return (spec.block + edge - 1) / edge; }

std::int64_t factor_tasks(const Schedule& schedule, const Spec& spec, std::int64_t edge) {
    const auto side = per_edge(spec, edge);
    return tasks(schedule, spec, [&](const Level& level) { return side * (side + 1) / 2 + panels(level) * side * side; });
}

std::int64_t sweep_tasks(const Schedule& schedule, const Spec& spec, std::int64_t edge) {
    return tasks(schedule, spec, [&](const Level&) { return per_edge(spec, edge); });
}

/// The task and its sources: Work in templates/device/tile_tasks.cuh.
std::int64_t work_bytes(const Schedule& schedule) { return 80 + 32 * (2 * static_cast<std::int64_t>(schedule.levels.size()) + 2); }

/// Columns of operands that come in one copy, and how many copies are on their way; measured. In single precision there is room for a third
/// where a multiprocessor holds as many thread blocks then.
struct Stages {
    std::int64_t columns, count;
};

Stages stages(const Spec& spec, const Target& target, std::int64_t edge) {
    if (spec.precision == Precision::f64) return {16, edge / 16};
    return {32, std::max<std::int64_t>(edge / 32, shared_limit(target) > 200 * kib ? 3 : 1)};
}

std::string level_table(const Schedule& schedule) {
    std::string text = fmt::format(
        "\nstruct TaskLevel {{\n    trifold_level level;\n    int longest, panels; /* fronts of a chain; blocks beside the pivot block "
        "*/\n    trifold_int first_single, singles; /* chains of one front beside longer ones */\n}};\n"
        "TRIFOLD_CONSTANT TaskLevel task_levels[{}] = {{\n",
        schedule.levels.size());
    for (std::size_t k = 0; k < schedule.levels.size(); ++k) {
        const auto level = kernel_level(schedule, k);
        std::string runs;
        for (const auto& run : level.run)
            runs +=
                fmt::format("{}{{{}, {}, {}, {}, {}}}", runs.empty() ? "" : ", ", run.first, run.stride, run.count, run.length, run.step);
        const auto [first_single, single] = singles(schedule.levels[k]);
        text +=
            fmt::format("    {{{{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {{{}}}}}, {}, {}, {}, {}}},\n", level.index, level.base,
                        level.scale, level.size, level.next_base, level.next_scale, level.next_size, level.coupling, level.next_coupling,
                        level.chains, level.runs, runs, schedule.levels[k].longest(), panels(schedule.levels[k]), first_single, single);
    }
    return text + "};\n";
}

}  // namespace

std::int64_t factor_threads(const Target& target, std::int64_t edge) { return edge / 16 * warp_lanes(target); }
std::int64_t counts(const Spec& spec, std::int64_t edge) { return 3 * per_edge(spec, edge) + 2; }
std::int64_t factor_groups(const Schedule& schedule, const Spec& spec, std::int64_t edge) {
    return std::min(factor_tasks(schedule, spec, edge), most_groups);
}
std::int64_t sweep_groups(const Schedule& schedule, const Spec& spec, std::int64_t edge) {
    return std::min(sweep_tasks(schedule, spec, edge), most_groups);
}

std::int64_t factor_shared(const Schedule& schedule, const Spec& spec, const Target& target, std::int64_t edge) {
    const auto [columns, count] = stages(spec, target, edge);
    const auto real = element_bytes(spec.precision);
    const auto square = edge * (2 * edge * real + 32), operands = count * 2 * edge * columns * real;
    return work_bytes(schedule) + 32 + 16 * count + 16 * edge + std::max(square, operands);
}

std::int64_t sweep_shared(const Schedule& schedule, const Spec& spec, std::int64_t edge, std::int64_t columns) {
    const auto real = element_bytes(spec.precision), row_groups = edge * real / 16;
    return work_bytes(schedule) + edge * edge * real + columns * (1 + sweep_threads / row_groups) * edge * real;
}

std::string constants(const Schedule& schedule, const Spec& spec, const Target& target, std::int64_t edge) {
    // Chains side by side: enough to fill the device, few enough for its cache.
    const auto lines = std::max<std::int64_t>(8192 / (3 * per_edge(spec, edge) * element_bytes(spec.precision)), 4);
    const auto [stage_columns, stage_count] = stages(spec, target, edge);
    const std::pair<const char*, std::int64_t> values[] = {
        {"LEVELS", static_cast<std::int64_t>(schedule.levels.size())},
        {"TASKS", factor_tasks(schedule, spec, edge)},
        {"TASK_BLOCKS", factor_groups(schedule, spec, edge)},
        {"SWEEP_TASKS", sweep_tasks(schedule, spec, edge)},
        {"SWEEP_TASK_BLOCKS", sweep_groups(schedule, spec, edge)},
        {"SWEEP_THREADS", sweep_threads},
        {"GROUP_LINES", lines},
        {"STAGE_COLUMNS", stage_columns},
        {"STAGES", stage_count},
    };
    std::string text = "\n";
    for (const auto& [name, value] : values) text += fmt::format("#define TRIFOLD_{} {}{}\n", name, value, value > 0x7fffffff ? "LL" : "");
    return text + level_table(schedule);
}

}  // namespace trifold::cuda::tiles
