#include "generator/tridiagonal/gpu/sizes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <trifold/error.hpp>

namespace trifold::gpu::inverse_shared_text {
#include "templates/gpu/tridiagonal/inverse_shared.h"
}

namespace trifold::gpu {
namespace {

constexpr std::int64_t blank_threads = 256;  // these check lengths, or set a member's results beyond its length
constexpr std::int64_t max_groups = 65535;   // the limit of a launch's second dimension

std::int64_t max_chains(const Schedule& schedule) {
    std::int64_t most = 1;
    for (const auto& level : schedule.levels) most = std::max(most, level.chains());
    return most;
}

/// The inverse of a chain longer than one front keeps two blocks of its own, but for that of a path which is one chain.
std::int64_t scratch_bytes(const Problem& problem, const Sizes& sizes) {
    const auto& [spec, target, schedule, workers, knobs] = problem;
    const bool needed =
        std::ranges::any_of(schedule.levels, [](const Level& level) { return (level.ring || level.chains() > 1) && level.longest() > 1; });
    if (!needed || !spec.operations.contains(Operation::inverse)) return 0;
    const auto blocks = checked_multiply(2 * max_chains(schedule), spec.batch, "scratch of the inverse");
    return round_up(checked_multiply(blocks, sizes.padded * sizes.padded * sizes.real, "scratch of the inverse"), workspace_alignment);
}

bool is_shared_out(const Sizes& sizes) { return inverse_shared_text::inverse_is_shared_out(sizes.padded); }

std::int64_t inverse_threads(const Sizes& sizes) { return inverse_shared_text::inverse_threads_of(sizes.padded); }
std::int64_t inverse_shared(const Sizes& sizes) { return inverse_shared_text::inverse_bytes(sizes.padded, sizes.tile, sizes.real); }

Shape shape(std::int64_t threads, std::int64_t members, std::int64_t shared) { return {1, members, static_cast<int>(threads), shared}; }

/// Cuts large blocks into tiles, a thread block each. Inverses of factors are cut into strips of rows.
void share_out_inverse(std::map<Phase, Shape>& shapes, const Spec& spec, const Sizes& sizes, std::int64_t members) {
    const auto square = inverse_shared_text::inverse_square(sizes.padded);
    const std::int64_t tiles = (spec.block + square - 1) / square,
                       operands = inverse_shared_text::inverse_product_bytes(sizes.padded, sizes.real);
    const auto add = [&](Phase phase, std::int64_t groups, std::int64_t shared) -> Shape& {
        auto& result = shapes[phase] = shape(inverse_threads(sizes), members, shared);
        result.groups_per_chain = groups;
        return result;
    };
    add(Phase::invert_factor, tiles, inverse_shared(sizes)).all_levels = true;
    add(Phase::invert_panels, 2 * tiles * tiles, operands);
    add(Phase::inverse_coupling, 2 * tiles * tiles, operands);
    add(Phase::inverse_diagonal, tiles * (tiles + 1) / 2, operands);
}

}  // namespace

std::int64_t shared_limit(const Target& target) { return device_of(target).count("facts.block_shared_bytes"); }

bool fits(const Sizes& sizes, const Target& target) {
    return std::max({sizes.factor_shared, sizes.sweep_shared, inverse_shared(sizes)}) <= shared_limit(target);
}

std::string too_large(std::string_view variant, const Sizes& sizes, const Problem& problem) {
    return fmt::format("variant '{}' needs {} bytes of shared memory for n = {}, and {} has {}; give auto", variant,
                       std::max({sizes.factor_shared, sizes.sweep_shared, inverse_shared(sizes)}), problem.spec.block,
                       to_string(problem.target), shared_limit(problem.target));
}

std::int64_t blocks_for(const Target& target, std::int64_t threads, std::int64_t registers) {
    const auto& device = device_of(target);
    return std::min(device.count("facts.registers") / (threads * registers), device.count("facts.blocks"));
}

std::int64_t multiprocessors(const Target& target) { return device_of(target).count("facts.multiprocessors"); }

std::int64_t members_per_group(const Spec& spec, std::int64_t together) {
    return (spec.batch + max_groups * together - 1) / (max_groups * together) * together;
}

// One thread block of full waves reads what every block of a member left: a few loads a thread, all in flight together.
// Few counts of them, so that few texts serve all horizons.
std::int64_t finish_threads(const Spec& spec) {
    const auto threads = std::bit_ceil(static_cast<std::uint64_t>(round_up(spec.horizon, 256) / 4));
    return std::min<std::int64_t>(static_cast<std::int64_t>(threads), 1024);
}

/// Thread blocks that share what is said or set of a member's blocks.
std::int64_t groups_together(const Problem& problem) {
    return std::max<std::int64_t>(1, 2 * multiprocessors(problem.target) / problem.spec.batch);
}

Quantities quantities_of(const Problem& problem, const Sizes& sizes) {
    return trifold::quantities_of(problem) + Quantities{{"padded", static_cast<double>(sizes.padded)},
                                                        {"columns", static_cast<double>(sizes.columns)},
                                                        {"shared_bytes", static_cast<double>(shared_limit(problem.target))}};
}

Lowered lower_common(const Problem& problem, const Sizes& sizes, std::int64_t members) {
    const auto& spec = problem.spec;
    const auto block = sizes.padded * sizes.padded;
    Lowered result{{}, {block, block, block, block, checked_multiply(sizes.padded, spec.rhs, "right-hand sides")}, 0, spec.batch};
    result.scratch_bytes = scratch_bytes(problem, sizes);
    const auto finish = shape(finish_threads(spec), members, finish_threads(spec) * (has_inertia(spec) ? 48 : 32));
    result.shapes = {{Phase::factor, shape(sizes.threads, members, sizes.factor_shared)},
                     {Phase::factor_forward, shape(sizes.threads, members, std::max(sizes.factor_shared, sizes.sweep_shared))},
                     {Phase::forward, shape(sizes.sweep_threads, members, sizes.sweep_shared)},
                     {Phase::backward, shape(sizes.sweep_threads, members, sizes.sweep_shared)},
                     {Phase::inverse, shape(inverse_threads(sizes), members, inverse_shared(sizes))},
                     {Phase::finish_factor, finish},
                     {Phase::finish_forward, finish}};
    result.shapes.at(Phase::finish_forward).groups_per_chain = spec.rhs;
    result.shapes[Phase::lengths] = shape(blank_threads, spec.sizes ? members : std::max(blank_threads, members), 0);
    if (spec.sizes) result.shapes.at(Phase::lengths).groups_per_chain = groups_together(problem);
    for (const auto phase : {Phase::blank, Phase::blank_inverse}) {
        result.shapes[phase] = shape(blank_threads, members, 0);
        result.shapes.at(phase).groups_per_chain = groups_together(problem);
    }
    if (is_shared_out(sizes)) share_out_inverse(result.shapes, spec, sizes, members);
    return result;
}

void lower_general(Lowered& lowered, const Sizes& sizes) {
    const auto block = lowered.storage.panel;
    lowered.storage = {block + sizes.padded, 2 * block, block + sizes.padded, 2 * block, lowered.storage.vector};
    lowered.shapes[Phase::forward_transposed] = lowered.shapes.at(Phase::forward);
    lowered.shapes[Phase::backward_transposed] = lowered.shapes.at(Phase::backward);
}

std::map<Operation, std::vector<Phase>> phases_of(const Problem& problem, const Sizes& sizes, const Abilities& abilities, bool rides) {
    auto result = usual_phases(problem.spec, abilities, rides);
    if (is_shared_out(sizes) && result.contains(Operation::inverse)) {
        auto& list = result[Operation::inverse];
        list.front() = Phase::inverse_diagonal;
        list.insert(list.begin(), {Phase::invert_factor, Phase::invert_panels, Phase::inverse_coupling});
    }
    return result;
}

Constant constant(std::string name, std::int64_t value) {
    return {std::move(name), fmt::format("{}{}", value, value > 0x7fffffff ? "LL" : "")};
}

std::vector<Constant> common_constants(const Design& design, const Sizes& sizes, const Facts& facts) {
    const bool on_hip = design.target.backend == Backend::hip;
    std::vector<Constant> result{on_hip ? constant("WAVE", warp_lanes(design.target)) : constant("ARCH", compute_capability(design.target)),
                                 constant("PADDED", sizes.padded),
                                 constant("TILE", sizes.tile),
                                 constant("IN_TILES", facts.in_tiles),
                                 constant("THREADS", sizes.threads),
                                 constant("TENSOR", facts.tensor),
                                 constant("MEMBERS_PER_GROUP", members_per_group(design.spec, facts.members_together)),
                                 constant("OVERLAPS", facts.overlaps),
                                 constant("THREADS_BLANK", blank_threads),
                                 constant("ORDERS", facts.orders)};
    const auto add = [&](const char* name, std::int64_t value) { result.push_back(constant(name, value)); };
    if (has_inverse(design)) {
        add("THREADS_INVERSE", inverse_threads(sizes));
        add("SHARED_INVERSE", inverse_shared(sizes));
        add("SCRATCH_CHAINS", max_chains(design.schedule));
        add("OFFSET_SCRATCH", design.workspace_bytes - design.lowered.scratch_bytes * design.workers);
    }
    if (variant_of(design).abilities.finishes) {
        add("THREADS_FINISH", finish_threads(design.spec));
        add("LOG_PARTS", facts.log_parts);
    }
    return result;
}

}  // namespace trifold::gpu
