#include "generator/tridiagonal/design.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <trifold/error.hpp>

#include "generator/program/sha256.hpp"
#include "generator/tridiagonal/backend.hpp"
#include "generator/tridiagonal/border.hpp"
#include "generator/tridiagonal/emit.hpp"
#include "generator/tridiagonal/mixed.hpp"
#include "generator/tridiagonal/operands.hpp"
#include "generator/tridiagonal/variant.hpp"

namespace trifold {
namespace {

/// All that texts of its units follow from, without the sizes that they leave open.
std::string specialization_of(const Design& design) {
    const auto& variant = variant_of(design);
    auto text = std::string(variant.name) + define(design, constants_of(design)) + define(design, variant.constants(design));
    if (is_wrapped(design)) text += define(design, constants_of_mixed(design.caller));
    for (const auto& name : design.target.backend == Backend::cpu ? cpu::templates(design) : gpu::templates(design)) text += name;
    return text;
}

/// End of all kernels' names: n32_f64_sm90_1a2b3c4d. Texts that differ have names that differ.
std::string label_of(const Design& design) {
    std::string arch;
    for (const char c : design.target.arch)
        if (std::isalnum(static_cast<unsigned char>(c)) != 0) arch += c;
    constexpr std::size_t digits = 8;
    const auto id = design.baked ? design.id : sha256(specialization_of(design)).substr(0, digits);
    return fmt::format("n{}_{}_{}_{}", design.caller.block, to_string(design.caller.precision), arch, id);
}

/// The kernels of each unit. NVRTC compiles one unit in one thread, and these take long; the others share one.
std::vector<std::vector<PhaseKernel>> packed(const Design& design, Packing packing) {
    constexpr std::array slow{Phase::factor_wide,      Phase::factor,           Phase::factor_forward,     Phase::forward,
                              Phase::backward,         Phase::inverse,          Phase::invert_factor,      Phase::invert_panels,
                              Phase::inverse_coupling, Phase::inverse_diagonal, Phase::forward_transposed, Phase::backward_transposed};
    if (packing == Packing::together || design.target.backend != Backend::cuda) return {design.kernels};
    std::vector<std::vector<PhaseKernel>> result;
    std::vector<PhaseKernel> others;
    for (const auto& kernel : design.kernels) {
        if (std::ranges::find(slow, kernel.phase) == slow.end())
            others.push_back(kernel);
        else
            result.push_back({kernel});
    }
    if (!others.empty()) result.push_back(others);
    return result;
}

/// Text about a launch for people.
std::string what(const Design& design, const Step& step) {
    const auto phase = to_string(design.kernels[step.kernel].phase);
    if (step.levels.empty()) return std::string(phase);
    return fmt::format("{} {}, {} chain{}", phase, step.levels, step.level.chains, step.level.chains == 1 ? "" : "s");
}

Launch launch_of(const Design& design, const Program& program, const Step& step) {
    require_sound(design, step);
    const auto& kernel = design.kernels[step.kernel];
    Launch launch;
    for (std::size_t unit = 0; unit < program.units.size(); ++unit) {
        const auto& kernels = program.units[unit].kernels;
        const auto found = std::ranges::find(kernels, kernel.name, &Kernel::name);
        if (found == kernels.end()) continue;
        launch.unit = unit;
        launch.kernel = static_cast<std::size_t>(found - kernels.begin());
    }
    launch.grid = {groups_of(design, step), kernel.shape.members_per_task};
    const auto constants = constants_of(design, step);
    launch.constants.assign(reinterpret_cast<const char*>(&constants), sizeof constants);
    launch.operands = static_cast<std::size_t>(step.operands);
    launch.after = step.after;
    launch.early = step.early;
    launch.what = what(design, step);
    return launch;
}

bool is_needed(const Lowered& lowered, Phase phase) {
    return std::ranges::any_of(lowered.phases, [&](const auto& item) { return std::ranges::count(item.second, phase) > 0; });
}

Unit unit_of(const Design& design, const std::vector<PhaseKernel>& kernels, bool only) {
    const bool on_cpu = design.target.backend == Backend::cpu;
    Unit unit{design.target, {}, {}, (on_cpu ? cpu::compile_options : gpu::compile_options)(design), {}};
    unit.id = kernels.size() == 1 && !only ? kernels.front().name : "btd_" + design.label;
    for (const auto& kernel : kernels) unit.kernels.push_back({kernel.name, kernel.shape.threads, kernel.shape.shared_bytes});
    unit.source = (on_cpu ? cpu::emit : gpu::emit)(design, kernels);
    return unit;
}

}  // namespace

Operations planned_operations(const Spec& spec, std::int64_t at_once) {
    auto result = spec.operations;
    if (result.erase(Operation::refine) > 0) result.insert(Operation::solve);
    if (is_general(spec) && result.contains(Operation::solve)) result.insert(Operation::solve_transposed);
    if (spec.rhs <= at_once) return result;
    if (result.contains(Operation::factor_forward)) result.insert(Operation::forward);
    if (result.contains(Operation::factor_solve)) result.insert(Operation::solve);
    return result;
}

Choice with_literal_sizes(Choice choice) {
    auto name = parse_variant(choice.variant);
    name.pinned[std::string(bake.name)] = 1;
    choice.variant = to_string(name);
    return choice;
}

bool is_wrapped(const Design& design) { return design.caller.precision == Precision::mixed; }
bool refines(const Design& design) { return design.caller.operations.contains(Operation::refine); }

namespace {

bool has_no_front(const Schedule& schedule) {
    return std::ranges::all_of(schedule.levels, [](const Level& level) { return level.runs.empty(); });
}

/// Work on a path of which others eliminate all blocks: its coupling, and a verdict.
std::vector<Phase> phases_without_fronts(Operation operation) {
    if (operation == Operation::factor) return {Phase::adopt, Phase::finish_factor};
    if (operation == Operation::factor_forward || operation == Operation::factor_solve)
        return {Phase::adopt, Phase::finish_factor, Phase::finish_forward};
    if (operation == Operation::forward || operation == Operation::solve) return {Phase::finish_forward};
    if (operation == Operation::inverse) return {Phase::inverse};
    return {};
}

/// Elements of a column of a stored block: as many as a factor has reciprocals behind it, where it has them.
std::int64_t rows_of(const Storage& storage, const Spec& spec) {
    return storage.factor > storage.panel ? storage.factor - storage.panel : storage.vector / spec.rhs;
}

Design design(const Choice& choice, std::vector<KnobDecision>* asked) {
    if (choice.spec.border > 0) return design(chain_choice(choice), asked);
    Design result;
    result.caller = choice.spec;
    result.spec = kernel_spec(choice.spec, choice.variant);
    result.target = choice.target;
    result.workers = choice.tuning.workers;
    result.spec.rhs = columns_at_once(choice);
    if (!is_wrapped(result)) result.spec.operations = planned_operations(choice.spec, result.spec.rhs);
    result.schedule = choice.schedule;
    result.variant = choice.variant;
    result.knobs = {parse_variant(choice.variant).pinned, asked};
    result.id = identity(choice);
    const auto& variant = variant_of(result);
    const auto problem = problem_of(result);
    result.baked = is_baked(problem, variant);
    if (const auto why = refusal(variant, problem); !why.empty()) throw SpecError(why);
    result.lowered = variant.lower(problem);
    if (has_signs(result.spec)) result.lowered.storage.update += rows_of(result.lowered.storage, result.spec);
    // b' A^-1 b, which finish_forward sums up, means nothing for the corrections of a mixed solution.
    if (is_wrapped(result))
        for (auto& item : result.lowered.phases) std::erase(item.second, Phase::finish_forward);
    if (result.target.backend == Backend::cpu && has_no_front(result.schedule))
        for (auto& [operation, list] : result.lowered.phases) list = phases_without_fronts(operation);
    for (const auto phase : phases)
        if (is_needed(result.lowered, phase)) result.kernels.push_back({{}, phase, result.lowered.shapes.at(phase)});
    auto plan = variant.memory(result);
    result.buffers = std::move(plan.buffers);
    result.workspace_bytes =
        checked_add(plan.bytes, checked_multiply(result.lowered.scratch_bytes, result.workers, "scratch of the workers"), "workspace");
    for (const auto operation : result.spec.operations) result.operations[operation] = variant.steps(result, operation);
    result.label = label_of(result);
    for (auto& kernel : result.kernels) kernel.name = fmt::format("btd_{}_{}", to_string(kernel.phase), result.label);
    return result;
}

}  // namespace

Design design(const Choice& choice) { return design(choice, nullptr); }

std::vector<KnobDecision> knobs_of(const Choice& choice) {
    std::vector<KnobDecision> asked;
    const auto result = design(choice, &asked);
    variant_of(result).constants(result);
    return asked;
}

Program write_down(const Design& design, Packing packing) {
    Program program;
    program.id = design.id;
    program.name = "btd_" + design.label;
    const auto lists = packed(design, packing);
    for (const auto& kernels : lists) program.units.push_back(unit_of(design, kernels, lists.size() == 1));
    program.buffers = design.buffers;
    program.workspace_bytes = design.workspace_bytes;
    program.scratch_bytes = design.lowered.scratch_bytes;
    program.workers = design.workers;
    if (!design.baked) program.sizes = open_sizes_of(design);
    for (const auto& [operation, steps] : design.operations)
        for (const auto& step : steps) program.operations[std::string(to_string(operation))].push_back(launch_of(design, program, step));
    return program;
}

bool has_kernel(const Design& design, Phase phase) {
    return std::ranges::find(design.kernels, phase, &PhaseKernel::phase) != design.kernels.end();
}

bool has_inverse(const Design& design) { return has_kernel(design, Phase::inverse) || has_kernel(design, Phase::invert_factor); }

std::int64_t groups_of(const Design& design, const Step& step) {
    const auto& shape = design.kernels[step.kernel].shape;
    return checked_multiply((step.level.chains + shape.chains_per_task - 1) / shape.chains_per_task, shape.groups_per_chain, "tasks");
}

const Buffer& buffer(const Design& design, std::string_view name) {
    const auto found = std::ranges::find(design.buffers, name, &Buffer::name);
    if (found == design.buffers.end()) throw SpecError(fmt::format("there is no buffer '{}'", name));
    return *found;
}

bool takes_all_levels(const Design& design, const Step& step) {
    const auto& kernel = design.kernels[step.kernel];
    return kernel.shape.all_levels || treats_members(kernel.phase);
}

trifold_constants constants_of(const Design& design, const Step& step) {
    if (takes_all_levels(design, step)) return {.all_levels = {step.start, design.kernels[step.kernel].shape.groups_per_chain, {}}};
    return {.level = step.level};
}

}  // namespace trifold
