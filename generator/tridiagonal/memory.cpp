#include "generator/tridiagonal/memory.hpp"

namespace trifold {
namespace {

std::int64_t separators_of(const Schedule& schedule) { return schedule.levels.size() > 1 ? schedule.levels[1].size : 0; }

}  // namespace

void MemoryPlan::add(std::string name, std::int64_t count, std::int64_t elements, std::int64_t bytes_each, bool zeroed) {
    const auto size = checked_multiply(checked_multiply(count, elements, name), bytes_each, name);
    buffers.push_back({std::move(name), bytes, size, zeroed, {}});
    const auto padded = checked_add(size, workspace_alignment - 1, "workspace") / workspace_alignment * workspace_alignment;
    bytes = checked_add(bytes, padded, "workspace");
}

std::int64_t blocks_of(const Design& design) {
    return checked_multiply(design.lowered.members, design.spec.horizon, "blocks of the batch");
}

std::int64_t slots_of(const Design& design) {
    return checked_multiply(2 * design.lowered.members, separators_of(design.schedule), "separators of the batch");
}

void add_results(MemoryPlan& plan, const Design& design) {
    const auto members = design.lowered.members;
    plan.add("status", members, 1, sizeof(trifold_status) + (has_inertia(design.spec) ? sizeof(trifold_inertia) : 0));
    plan.add("log_determinant", members, 1, sizeof(double));
    plan.add("quadratic", members, design.caller.rhs, sizeof(double));
    const auto& spec = design.spec;
    const std::int64_t lengths = spec.lengths ? 2 : spec.sizes ? 1 : 0, sizes = spec.sizes ? (spec.horizon + 1) / 2 : 0;
    plan.add("range", members, 1 + lengths + sizes, sizeof(trifold_range));
}

void add_factors(MemoryPlan& plan, const Design& design) {
    const auto& storage = design.lowered.storage;
    const auto blocks = blocks_of(design), real = element_bytes(design.spec.precision);
    plan.add("factor", blocks, storage.factor, real);
    plan.add("next", blocks, storage.panel, real);
    plan.add("behind", has_fill(design.schedule) ? blocks : 0, storage.panel, real);
}

void add_updates(MemoryPlan& plan, const Design& design, std::int64_t vectors, std::int64_t slots) {
    const auto& storage = design.lowered.storage;
    const auto real = std::int64_t{element_bytes(design.spec.precision)};
    const auto couplings = checked_multiply(design.lowered.members, design.schedule.couplings(), "couplings of the batch");
    plan.add("update", slots, storage.update, real);
    plan.add("coupling", couplings, storage.coupling, real);
    plan.add("rhs_update", vectors, storage.vector, real);
    if (has_kernel(design, Phase::invert_factor))
        plan.add("quotients", checked_multiply(3, blocks_of(design), "quotients"), storage.factor, real);
    plan.add("inverse_coupling", has_inverse(design) ? couplings : 0, storage.coupling, real);
}

void add_verdicts(MemoryPlan& plan, const Design& design, std::int64_t log_parts) {
    const auto blocks = blocks_of(design), slots = slots_of(design);
    plan.add("failure", blocks, 1, sizeof(trifold_int));
    plan.add("floors", blocks, has_inertia(design.spec) ? 2 : 1, sizeof(int));
    plan.add("poison", slots, 1, sizeof(int));
    plan.add("block_log_determinant", blocks, log_parts, sizeof(double));
    plan.add("reduction", has_inertia(design.spec) ? 3 * blocks : blocks, log_parts, sizeof(double), true);
    plan.add("block_quadratic", blocks, design.spec.rhs, sizeof(double));
}

void add_progress(MemoryPlan& plan, const Design& design, std::int64_t kinds, std::int64_t each) {
    plan.add("ticket", kinds * design.lowered.members, 1, sizeof(trifold_int), true);
    plan.add("flag", each, blocks_of(design), sizeof(trifold_int), true);
}

MemoryPlan plain_memory(const Design& design) {
    MemoryPlan plan;
    add_results(plan, design);
    add_factors(plan, design);
    add_updates(plan, design, slots_of(design), slots_of(design));
    add_verdicts(plan, design, 1);
    return plan;
}

}  // namespace trifold
