#include "generator/tridiagonal/variant.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <trifold/error.hpp>

namespace trifold {
namespace {

std::vector<Phase> phases_of(Operation operation, bool rides) {
    switch (operation) {
        case Operation::factor:
            return {Phase::factor, Phase::finish_factor};
        case Operation::forward:
            return {Phase::forward, Phase::finish_forward};
        case Operation::backward:
            return {Phase::backward};
        case Operation::solve:
            return {Phase::forward, Phase::finish_forward, Phase::backward};
        case Operation::factor_forward:
            if (!rides) return {Phase::factor, Phase::finish_factor, Phase::forward, Phase::finish_forward};
            return {Phase::factor_forward, Phase::finish_factor, Phase::finish_forward};
        case Operation::factor_solve:
            if (!rides) return {Phase::factor, Phase::finish_factor, Phase::forward, Phase::finish_forward, Phase::backward};
            return {Phase::factor_forward, Phase::finish_factor, Phase::finish_forward, Phase::backward};
        case Operation::inverse:
            return {Phase::inverse};
        case Operation::solve_transposed:
            return {Phase::forward_transposed, Phase::backward_transposed};
        case Operation::load:
            return {Phase::load};
        case Operation::refine:
            break;  // it is made of a solution
    }
    return {};
}

/// Lengths and sizes are looked at before anything reads them, and what lies beyond lengths is set before chains write their results.
void add_lengths(std::vector<Phase>& list, Operation operation, const Spec& spec, bool clips) {
    if (operation == Operation::inverse && spec.lengths)
        list.push_back(Phase::blank_inverse);
    else if (operation != Operation::factor && spec.lengths && clips)
        list.insert(list.begin(), Phase::blank);
    if (operation == Operation::factor || operation == Operation::factor_forward || operation == Operation::factor_solve)
        list.insert(list.begin(), Phase::lengths);
}

}  // namespace

Problem problem_of(const Design& design) { return {design.spec, design.target, design.schedule, design.workers, design.knobs}; }

std::span<const Variant* const> variants_of(Backend backend) {
    static const Variant* const on_cpu[] = {&cpu::getrf_variant, &cpu::intervals_variant, &cpu::lanes_variant, &cpu::tile_variant};
    static const Variant* const on_gpu[] = {&gpu::chains_variant, &gpu::dataflow_variant,    &gpu::fused_variant,
                                            &gpu::getrf_variant,  &gpu::getrf_lanes_variant, &gpu::getrf_fused_variant,
                                            &gpu::team_variant,   &gpu::tiles_variant,       &gpu::tiled_variant};
    if (backend == Backend::cpu) return on_cpu;
    return on_gpu;
}

const Variant& variant_named(const Target& target, std::string_view name) {
    std::string known = "auto";
    const auto parsed = parse_variant(name);
    for (const auto* variant : variants_of(target.backend)) {
        if (variant->name == parsed.name) {
            check_knobs(parsed, variant->knobs);
            return *variant;
        }
        known += fmt::format(", {}", variant->name);
    }
    throw SpecError(fmt::format("unknown variant '{}' for {}; give one of {}", parsed.name, to_string(target), known));
}

const Variant& variant_of(const Design& design) { return variant_named(design.target, design.variant); }

Operation modelled_operation(const Problem& problem) {
    const bool solves = std::ranges::any_of(problem.spec.operations, [](Operation operation) {
        return operation == Operation::factor_solve || operation == Operation::solve || operation == Operation::backward;
    });
    return solves && problem.target.backend != Backend::cpu ? Operation::factor_solve : Operation::factor;
}

std::string refusal(const Variant& variant, const Problem& problem) {
    const auto& [spec, target, schedule, workers, knobs] = problem;
    const auto& can = variant.abilities;
    if (can.largest_block > 0 && spec.block > can.largest_block)
        return fmt::format("variant '{}' is for blocks up to {}, not for n = {}; give auto", variant.name, can.largest_block, spec.block);
    if (is_general(spec) && !can.general) return fmt::format("variant '{}' takes symmetric matrices alone; give auto", variant.name);
    if (!is_general(spec) && !can.definite) return fmt::format("variant '{}' takes general matrices alone; give auto", variant.name);
    if (has_signs(spec) && !can.signs) return fmt::format("variant '{}' takes positive definite matrices alone; give auto", variant.name);
    if (spec.ring && !can.rings) return fmt::format("variant '{}' takes no ring; give auto", variant.name);
    if (spec.lengths && !can.lengths) return fmt::format("variant '{}' takes no lengths; give auto", variant.name);
    if (spec.sizes && !can.views) return fmt::format("variant '{}' takes no sizes; give auto", variant.name);
    if (spec.bandwidth > 1 && !can.views) return fmt::format("variant '{}' takes no bandwidth; give auto", variant.name);
    if (spec.ring && !can.ring_inverse && spec.operations.contains(Operation::inverse))
        return fmt::format("variant '{}' has no selected inverse of a ring; give auto", variant.name);
    if (loads_ahead(spec) && !can.loads)
        return fmt::format("variant '{}' does not overwrite D and E by load, as 'tile-dataflow' of GPUs does; give auto", variant.name);
    if (!can.any_schedule && schedule.levels != multi_stage(schedule.horizon, spec.ring).levels)
        return fmt::format("variant '{}' is for the schedule multi-stage, not for {}; give auto", variant.name, schedule.name);
    if (!can.inverse && spec.operations.contains(Operation::inverse))
        return fmt::format("variant '{}' has no selected inverse; give auto", variant.name);
    return variant.refuses(problem);
}

Quantities quantities_of(const Problem& problem) {
    const auto& [spec, target, schedule, workers, knobs] = problem;
    const auto number = [](auto value) { return static_cast<double>(value); };
    const bool is_chain = schedule.levels.size() == 1 && schedule.levels == sequential(schedule.horizon).levels;
    return {{"block", number(spec.block)},
            {"horizon", number(spec.horizon)},
            {"batch", number(spec.batch)},
            {"rhs", number(spec.rhs)},
            {"fronts", number(spec.horizon) * number(spec.batch)},
            {"bytes", number(element_bytes(spec.precision))},
            {"schedule", std::string(is_chain ? "chain" : "levels")},
            {"inverse", number(spec.operations.contains(Operation::inverse))}};
}

Quantities operator+(Quantities all, const Quantities& more) {
    for (const auto& [name, value] : more) all.insert_or_assign(name, value);
    return all;
}

std::int64_t take(const Problem& problem, std::string_view knob, const Quantities& of) {
    return take(problem.knobs, device_of(problem.target), knob, of);
}

bool is_baked(const Problem& problem, const Variant& variant) {
    return take(problem, bake.name, quantities_of(problem) + Quantities{{"variant", std::string(variant.name)}}) != 0;
}

std::map<Operation, std::vector<Phase>> usual_phases(const Spec& spec, const Abilities& abilities, bool rides) {
    std::map<Operation, std::vector<Phase>> result;
    for (const auto operation : spec.operations) {
        auto& list = result[operation] = phases_of(operation, abilities.rides && rides);
        if (!abilities.finishes)
            std::erase_if(list, [](Phase phase) { return phase == Phase::finish_factor || phase == Phase::finish_forward; });
        if (is_general(spec)) std::erase(list, Phase::finish_forward);  // b' A^-1 b
        if (spec.lengths || spec.sizes) add_lengths(list, operation, spec, abilities.clips);
    }
    return result;
}

}  // namespace trifold
