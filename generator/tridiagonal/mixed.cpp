#include "generator/tridiagonal/mixed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "generator/tridiagonal/backend.hpp"
#include "generator/tridiagonal/emit.hpp"
#include "generator/tridiagonal/memory.hpp"
#include "generator/tridiagonal/operands.hpp"
#include "generator/tridiagonal/variant.hpp"

namespace trifold {
namespace {

/// Names of kernels. They copy a block to f32, take the residual of a block, judge a member's residual, correct a block of the solution,
/// and hand it over.
constexpr std::array<std::string_view, 5> passes{"narrow", "residual", "judge", "correct", "deliver"};
/// Kernels of the operation refine.
constexpr std::array<std::string_view, 3> refining{"residual", "judge", "correct"};

std::string kernel_name(const Design& inner, std::string_view pass) { return fmt::format("btd_{}_{}", pass, inner.label); }

bool solves(const Spec& spec) { return spec.operations.contains(Operation::solve) || spec.operations.contains(Operation::factor_solve); }

/// The passes that the operations need, in the order of `passes`.
std::vector<std::string_view> passes_of(const Design& inner) {
    if (!is_wrapped(inner)) return {refining.begin(), refining.end()};
    std::vector<std::string_view> result;
    const bool factors = has_kernel(inner, Phase::factor);
    for (const auto pass : passes)
        if (pass == "narrow" ? factors : solves(inner.caller)) result.push_back(pass);
    return result;
}

/// The Spec of the copies in f32, or the Spec itself.
Spec inner_spec(const Spec& spec) {
    if (spec.precision != Precision::mixed) return spec;
    Operations operations;
    if (spec.operations.contains(Operation::factor) || spec.operations.contains(Operation::factor_solve)) operations = {Operation::factor};
    if (solves(spec)) operations.insert({Operation::forward, Operation::backward});
    return {.block = spec.block,
            .horizon = spec.horizon,
            .precision = Precision::f32,
            .rhs = spec.rhs,
            .batch = spec.batch,
            .operations = operations};
}

/// Adds vectors of an iteration, and in mixed precision copies of the matrix in f64 and in f32. With the copy in f64 later solutions can be
/// refined, whatever becomes of the caller's arrays.
void add_buffers(Design& inner, const MixedShape& shape) {
    const auto& spec = inner.caller;
    const auto members = inner.lowered.members, blocks = members * spec.horizon, couplings = members * (spec.horizon - 1);
    const auto area = spec.block * spec.block, rhs = checked_multiply(spec.block, inner.spec.rhs, "right-hand sides of a block");
    const auto parts = checked_multiply(members * inner.spec.horizon, shape.row_parts, "rows of the batch");
    const bool copies = is_wrapped(inner);
    const auto scratch = inner.lowered.scratch_bytes * inner.workers;
    MemoryPlan plan{std::move(inner.buffers), inner.workspace_bytes - scratch};
    plan.add("refined", members, 1, sizeof(trifold_refined) + (copies ? 0 : sizeof(double)));
    if (copies) {
        plan.add("progress", members, 1, sizeof(double));
        plan.add("running", members, 1, sizeof(int));
        plan.add("wide_d", blocks, area, sizeof(double));
        plan.add("wide_e", couplings, area, sizeof(double));
        plan.add("narrow_d", blocks, area, sizeof(float));
        plan.add("narrow_e", couplings, area, sizeof(float));
    }
    plan.add("narrow_x", blocks, rhs, element_bytes(inner.spec.precision));
    if (copies) plan.add("solution", blocks, rhs, sizeof(double));
    plan.add("errors", parts, 3 * inner.spec.rhs, sizeof(double));
    inner.buffers = std::move(plan.buffers);
    inner.workspace_bytes = checked_add(plan.bytes, scratch, "workspace");
}

Unit unit_of(const Design& inner, const MixedShape& shape) {
    const bool on_cpu = inner.target.backend == Backend::cpu;
    Unit unit{inner.target,
              fmt::format("btd_{}_{}", is_wrapped(inner) ? "mixed" : "refine", inner.label),
              {},
              (on_cpu ? cpu::compile_options : gpu::compile_options)(inner),
              {}};
    auto constants = constants_of(inner);
    const auto more = constants_of_mixed(inner.caller);
    constants.insert(constants.end(), more.begin(), more.end());
    auto prologue = header_comment(inner) + define_sizes(inner) + define(inner, constants);
    for (const auto pass : passes_of(inner)) {
        unit.kernels.push_back({kernel_name(inner, pass), shape.threads, shape.shared_bytes});
        prologue += define_kernel(pass, unit.kernels.back().name);
    }
    unit.source = (on_cpu ? cpu::emit_mixed : gpu::emit_mixed)(inner, prologue);
    return unit;
}

/// Puts launches one after another: kernels of mixed precision, and whole operations of the Program that is wrapped.
class Rounds {
  public:
    Rounds(const Program& program, const Design& inner, const MixedShape& shape) : program_(program), inner_(inner), shape_(shape) {}
    /// Adds a kernel over all rows of all blocks.
    void rows(std::string_view pass, int round) { add(pass, round, inner_.schedule.horizon * shape_.row_parts); }
    /// Adds a kernel over every member.
    void members(std::string_view pass, int round) { add(pass, round, 1); }
    /// Adds an operation of the wrapped Program, on what its kernels sweep in the workspace. Its launches that wait for nothing wait here
    /// for all launches before it.
    void run(Operation operation) {
        const auto first = launches_.size();
        const auto& steps = program_.operations.at(std::string(to_string(operation)));
        for (auto launch : steps) {
            launch.operands = static_cast<std::size_t>(Operands::copies);
            for (auto& before : launch.after) before += first;
            if (launch.after.empty()) launch.after = ends_;
            launches_.push_back(std::move(launch));
        }
        ends_.clear();
        for (auto k = first; k < launches_.size(); ++k)
            if (!is_awaited(k)) ends_.push_back(k);
    }
    std::vector<Launch> done() { return std::move(launches_); }

  private:
    /// Whether some launch begins only once this one has ended.
    bool is_awaited(std::size_t index) const {
        return std::ranges::any_of(
            launches_, [&](const Launch& launch) { return !launch.early && std::ranges::find(launch.after, index) != launch.after.end(); });
    }
    void add(std::string_view pass, int round, std::int64_t chains) {
        const auto unit = program_.units.size() - 1;
        const auto& kernels = program_.units[unit].kernels;
        const auto kernel = std::ranges::find(kernels, kernel_name(inner_, pass), &Kernel::name) - kernels.begin();
        const trifold_constants constants{.refinement = {round, {}}};
        Launch launch;
        launch.unit = unit;
        launch.kernel = static_cast<std::size_t>(kernel);
        launch.grid = {(chains + shape_.parts_per_group - 1) / shape_.parts_per_group, shape_.members_per_group};
        launch.constants.assign(reinterpret_cast<const char*>(&constants), sizeof constants);
        launch.after = ends_;
        launch.what = fmt::format("{} round {}", pass, round);
        launches_.push_back(std::move(launch));
        ends_ = {launches_.size() - 1};
    }
    const Program& program_;
    const Design& inner_;
    const MixedShape& shape_;
    std::vector<Launch> launches_;
    std::vector<std::size_t> ends_;  // launches that the next one waits for
};

/// Every round takes the residual of x, solves for it, and adds the solution to x. The first x is 0.
void refine(Rounds& rounds) {
    for (int round = 0; round <= refinement_rounds; ++round) {
        rounds.rows("residual", round);
        rounds.members("judge", round);
        if (round == refinement_rounds) break;
        rounds.run(Operation::forward);
        rounds.run(Operation::backward);
        rounds.rows("correct", round);
    }
    rounds.rows("deliver", 0);
}

std::vector<Launch> build(const Program& program, const Design& inner, const MixedShape& shape, Operation operation) {
    Rounds rounds(program, inner, shape);
    if (operation != Operation::solve) {
        rounds.rows("narrow", 0);
        rounds.run(Operation::factor);
    }
    if (operation != Operation::factor) refine(rounds);
    return rounds.done();
}

}  // namespace

std::vector<Constant> constants_of_mixed(const Spec& spec) {
    std::vector<Constant> constants;
    add_strides(constants, "CALLER_D", diagonal_strides(spec));
    add_strides(constants, "CALLER_E", coupling_strides(spec));
    constants.push_back({"ROUNDS", fmt::format("{}LL", refinement_rounds)});
    constexpr double coarser = 0x1p29;  // rounding of f32 over that of f64
    constants.push_back(
        {"BACKWARD_ERROR", fmt::format("{}", backward_error_bound(spec.block) * (spec.precision == Precision::f32 ? coarser : 1))});
    return constants;
}

Spec kernel_spec(const Spec& spec, std::string_view variant) {
    const auto pinned = parse_variant(variant).pinned;
    const auto found = pinned.find(bake.name);
    auto result = inner_spec(folded(spec));
    if (found == pinned.end() || found->second == 0) result.rhs = columns_class(spec.rhs);
    return result;
}

double backward_error_bound(std::int64_t block) { return 0x1p-53 * (4 + 1.5 * std::sqrt(3 * static_cast<double>(block))); }

Program wrap_mixed(Design inner, Packing packing) {
    const auto shape = inner.target.backend == Backend::cpu ? cpu::mixed_shape(inner.spec) : gpu::mixed_shape(inner.spec);
    add_buffers(inner, shape);
    auto program = write_down(inner, packing);
    program.units.push_back(unit_of(inner, shape));
    auto wrapped = program;
    wrapped.operations.clear();
    for (const auto operation : planned_operations(inner.caller, inner.spec.rhs))
        wrapped.operations[std::string(to_string(operation))] = build(program, inner, shape, operation);
    return wrapped;
}

/// The units that factor and sweep are those of the Spec without it.
Program with_refinement(Design inner, Packing packing) {
    const auto shape = inner.target.backend == Backend::cpu ? cpu::mixed_shape(inner.spec) : gpu::mixed_shape(inner.spec);
    auto program = write_down(inner, packing);
    add_buffers(inner, shape);
    program.units.push_back(unit_of(inner, shape));
    program.buffers = inner.buffers;
    program.workspace_bytes = inner.workspace_bytes;
    if (!inner.baked) program.sizes = open_sizes_of(inner);
    Rounds rounds(program, inner, shape);
    for (const int round : {0, 1}) {
        rounds.rows("residual", round);
        if (round == 0) rounds.run(Operation::solve);
        if (round == 0) rounds.rows("correct", round);
    }
    rounds.members("judge", 1);
    program.operations[std::string(to_string(Operation::refine))] = rounds.done();
    return program;
}

}  // namespace trifold
