#include "generator/memory.hpp"

#include <algorithm>
#include <trifold/error.hpp>

#include "generator/mixed.hpp"

namespace trifold {
namespace {

std::int64_t separators_of(const Schedule& schedule) { return schedule.levels.size() > 1 ? schedule.levels[1].size : 0; }

/// Couplings between consecutive remaining blocks, over all levels but the first, whose couplings are E.
std::int64_t couplings_of(const Schedule& schedule) {
    std::int64_t sum = 0;
    for (std::size_t k = 1; k < schedule.levels.size(); ++k) sum += schedule.levels[k].size - 1;
    return sum;
}

/// The matrix in f64, so that later solutions can be refined whatever becomes of the caller's arrays, and in f32; what an iteration needs.
void add_mixed(MemoryPlan& plan, const Program& program) {
    const auto& spec = program.spec;
    const auto members = program.variant.members, blocks = members * spec.horizon, couplings = members * (spec.horizon - 1);
    const auto area = spec.block * spec.block, rhs = checked_multiply(spec.block, spec.rhs, "right-hand sides of a block");
    const auto parts = checked_multiply(blocks, program.variant.row_parts, "rows of the batch");
    plan.add("refined", members, 1, sizeof(trifold_refined));
    plan.add("progress", members, 1, sizeof(double));
    plan.add("running", members, 1, sizeof(int));
    plan.add("wide_d", blocks, area, sizeof(double));
    plan.add("wide_e", couplings, area, sizeof(double));
    plan.add("narrow_d", blocks, area, sizeof(float));
    plan.add("narrow_e", couplings, area, sizeof(float));
    plan.add("narrow_x", blocks, rhs, sizeof(float));
    plan.add("solution", blocks, rhs, sizeof(double));
    plan.add("row_sum", parts, 1, sizeof(double));
    plan.add("norms", parts, 3 * spec.rhs, sizeof(double));
}

}  // namespace

void MemoryPlan::add(std::string name, std::int64_t count, std::int64_t elements, std::int64_t bytes_each, bool zeroed) {
    const auto size = checked_multiply(checked_multiply(count, elements, name), bytes_each, name);
    buffers.push_back({std::move(name), bytes, size, zeroed});
    const auto padded = checked_add(size, workspace_alignment - 1, "workspace") / workspace_alignment * workspace_alignment;
    bytes = checked_add(bytes, padded, "workspace");
}

MemoryPlan plan_memory(const Program& program) {
    const auto& spec = program.spec;
    const auto& storage = program.variant.storage;
    const auto real = element_bytes(inner_spec(spec).precision);
    const auto members = program.variant.members;
    const auto blocks = checked_multiply(members, spec.horizon, "blocks of the batch");
    const auto slots = checked_multiply(2 * members, separators_of(program.schedule), "separators of the batch");
    const auto couplings = checked_multiply(members, couplings_of(program.schedule), "couplings of the batch");
    const bool all_levels = std::ranges::any_of(program.variant.shapes, [](const auto& item) { return item.second.all_levels; });
    MemoryPlan plan;
    plan.add("status", members, 1, sizeof(trifold_status));
    plan.add("log_determinant", members, 1, sizeof(double));
    plan.add("quadratic", members, spec.rhs, sizeof(double));
    plan.add("range", members, 1, sizeof(trifold_range));
    plan.add("factor", blocks, storage.factor, real);
    plan.add("next", blocks, storage.panel, real);
    plan.add("behind", has_fill(program.schedule) ? blocks : 0, storage.panel, real);
    if (program.variant.name == "tile-dataflow") plan.add("halves", blocks, program.variant.half_panels * storage.factor, real);
    plan.add("update", slots, storage.update, real);
    plan.add("coupling", couplings, storage.coupling, real);
    plan.add("rhs_update", all_levels ? checked_multiply(2, blocks, "right-hand sides of the batch") : slots, storage.vector, real);
    plan.add("inverse_coupling", has_kernel(program, Phase::inverse) ? couplings : 0, storage.coupling, real);
    plan.add("failure", blocks, 1, sizeof(trifold_int));
    plan.add("floors", blocks, 1, sizeof(int));
    plan.add("poison", slots, 1, sizeof(int));
    plan.add("block_log_determinant", blocks, program.variant.log_parts, sizeof(double));
    plan.add("block_quadratic", blocks, spec.rhs, sizeof(double));
    // Kernels that cover all levels: what the fronts (or tasks) are claimed from, and how far each is, for each kind of kernel (or panel).
    plan.add("ticket", all_levels ? (program.variant.wide_levels > 0 ? 4 : 3) * members : 0, 1, sizeof(trifold_int), true);
    plan.add("flag", all_levels ? program.variant.progress : 0, blocks, sizeof(trifold_int), true);
    // What the sweeps' fronts send each other, stamped with the number of the run.
    const auto words = checked_multiply(storage.vector, program.variant.words, "words of a block's right-hand sides");
    if (words > 0) {
        plan.add("update_words", checked_multiply(2, blocks, "words of the batch"), words, sizeof(std::uint64_t), true);
        plan.add("solution_words", blocks, words, sizeof(std::uint64_t), true);
        if (program.variant.overlaps) plan.add("forward_words", blocks, words, sizeof(std::uint64_t), true);
    }
    plan.add("message", members, program.variant.message_words, sizeof(trifold_int), true);
    if (spec.precision == Precision::mixed) add_mixed(plan, program);
    return plan;
}

}  // namespace trifold
