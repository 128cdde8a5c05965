#include "generator/program.hpp"

#include <fmt/format.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "generator/backend.hpp"
#include "generator/cost.hpp"
#include "generator/error.hpp"
#include "generator/mixed.hpp"

namespace trifold {
namespace {

constexpr int format_version = 1;  // raise when the meaning of a Program or the templates' contract changes

nlohmann::json layout_json(const BlockLayout& layout) {
    return {{"leading", layout.leading}, {"stage", layout.stage}, {"member", layout.member}};
}

nlohmann::json names_json(const Operations& operations) {
    auto names = nlohmann::json::array();
    for (const auto operation : operations) names.push_back(to_string(operation));
    return names;
}

nlohmann::json spec_json(const Spec& spec) {
    return {{"block", spec.block},
            {"horizon", spec.horizon},
            {"precision", to_string(spec.precision)},
            {"rhs", spec.rhs},
            {"batch", spec.batch},
            {"order", spec.order == Order::row_major ? "row-major" : "column-major"},
            {"coupling", spec.coupling == Coupling::lower ? "lower" : "upper"},
            {"rhs_layout", spec.rhs_layout == RhsLayout::staged ? "staged" : "column-major"},
            {"d", layout_json(spec.d)},
            {"e", layout_json(spec.e)},
            {"operations", names_json(spec.operations)}};
}

nlohmann::json identity_json(const Program& program) {
    return {{"format", format_version},          {"spec", spec_json(program.spec)}, {"target", to_string(program.target)},
            {"schedule", program.schedule.name}, {"variant", program.variant.name}, {"workers", program.tuning.workers}};
}

std::string identity(const Program& program) {
    const auto text = identity_json(program).dump();
    std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
    SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
    return fmt::format("{:02x}{:02x}{:02x}{:02x}", digest[0], digest[1], digest[2], digest[3]);
}

std::string kernel_name(const Program& program, Phase phase) {
    std::string arch;
    for (const char c : program.target.arch) {
        if (std::isalnum(static_cast<unsigned char>(c)) != 0) arch += c;
    }
    return fmt::format("btd_{}_n{}_{}_{}_{}", to_string(phase), program.spec.block, to_string(program.spec.precision), arch, program.id);
}

/// Buffers in address order, each aligned, sizes checked.
struct MemoryPlan {
    std::vector<Buffer> buffers;
    std::int64_t bytes = 0;
    void add(std::string name, std::int64_t count, std::int64_t elements, std::int64_t bytes_each, bool zeroed = false) {
        const auto size = checked_multiply(checked_multiply(count, elements, name), bytes_each, name);
        buffers.push_back({std::move(name), bytes, size, zeroed});
        const auto padded = checked_add(size, workspace_alignment - 1, "workspace") / workspace_alignment * workspace_alignment;
        bytes = checked_add(bytes, padded, "workspace");
    }
};

std::int64_t separators_of(const Schedule& schedule) { return schedule.levels.size() > 1 ? schedule.levels[1].size : 0; }

/// Couplings between consecutive remaining blocks, over all levels but the first, whose couplings are E.
std::int64_t couplings_of(const Schedule& schedule) {
    std::int64_t sum = 0;
    for (std::size_t k = 1; k < schedule.levels.size(); ++k) sum += schedule.levels[k].size - 1;
    return sum;
}

bool has_fill(const Schedule& schedule) {
    return std::ranges::any_of(schedule.levels, [](const Level& level) {
        return std::ranges::any_of(level.runs, [&](const Run& run) {
            const auto behind_of_last = run.first + (run.count - 1) * run.stride - run.step;
            return behind_of_last >= 0 && behind_of_last < level.size;
        });
    });
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
    plan.add("factor", blocks, storage.factor, real);
    plan.add("next", blocks, storage.panel, real);
    plan.add("behind", has_fill(program.schedule) ? blocks : 0, storage.panel, real);
    plan.add("update", slots, storage.update, real);
    plan.add("coupling", couplings, storage.coupling, real);
    plan.add("rhs_update", all_levels ? checked_multiply(2, blocks, "right-hand sides of the batch") : slots, storage.vector, real);
    plan.add("inverse_coupling", has_kernel(program, Phase::inverse) ? couplings : 0, storage.coupling, real);
    plan.add("failure", blocks, 1, sizeof(trifold_int));
    plan.add("floors", blocks, 1, sizeof(int));
    plan.add("poison", slots, 1, sizeof(int));
    plan.add("block_log_determinant", blocks, 1, sizeof(double));
    plan.add("block_quadratic", blocks, spec.rhs, sizeof(double));
    // Kernels that cover all levels: what the fronts (or tasks) are claimed from, and how far each is, for each kind of kernel (or panel).
    plan.add("ticket", all_levels ? 3 * members : 0, 1, sizeof(trifold_int), true);
    plan.add("flag", all_levels ? program.variant.progress : 0, blocks, sizeof(trifold_int), true);
    if (spec.precision == Precision::mixed) add_mixed(plan, program);
    return plan;
}

using Launches = std::vector<Launch>;

void append(Launches& launches, std::size_t kernel, const trifold_level& level, std::vector<std::size_t> after) {
    launches.push_back({kernel, level, std::move(after)});
}

std::size_t kernel_index(const Program& program, Phase phase) {
    return static_cast<std::size_t>(std::ranges::find(program.kernels, phase, &Kernel::phase) - program.kernels.begin());
}

class GraphBuilder {
  public:
    explicit GraphBuilder(const Program& program) : program_(program), schedule_(program.schedule) {}
    /// A kernel over every level, each after the one before it.
    void climb(Phase phase) {
        if (program_.variant.shapes.at(phase).all_levels) return everything(phase);
        for (std::size_t k = 0; k < schedule_.levels.size(); ++k) chain(phase, kernel_level(schedule_, k));
    }
    void descend(Phase phase) {
        if (program_.variant.shapes.at(phase).all_levels) return everything(phase);
        for (std::size_t k = schedule_.levels.size(); k-- > 0;) chain(phase, kernel_level(schedule_, k));
    }
    /// A leaf that later launches do not wait for.
    void aside(Phase phase) {
        trifold_level all{};
        all.chains = 1;
        append(launches_, kernel_index(program_, phase), all, tail_);
    }
    /// A kernel over every member, or over all their rows, that later launches wait for.
    void members(Phase phase, trifold_int round = 0) {
        trifold_level all{};
        all.index = round;
        all.chains = 1;
        chain(phase, all);
    }
    void rows(Phase phase, trifold_int round = 0) {
        trifold_level all{};
        all.index = round;
        all.chains = schedule_.horizon * program_.variant.row_parts;
        chain(phase, all);
    }
    Launches done() { return std::move(launches_); }

  private:
    /// One launch with a task for every front, or as many as share the work.
    void everything(Phase phase) {
        auto level = kernel_level(schedule_, 0);
        const auto groups = program_.variant.shapes.at(phase).groups;
        level.chains = groups > 0 ? groups : schedule_.horizon;
        chain(phase, level);
    }
    void chain(Phase phase, const trifold_level& level) {
        append(launches_, kernel_index(program_, phase), level, tail_);
        tail_ = {launches_.size() - 1};
    }
    const Program& program_;
    const Schedule& schedule_;
    Launches launches_;
    std::vector<std::size_t> tail_;
};

/// As if the variant had kernels that finish.
std::vector<Phase> possible_phases(Operation operation, bool rides) {
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
    }
    return {};
}

std::vector<Phase> possible_mixed_phases(Operation operation) {
    std::vector<Phase> result;
    if (operation != Operation::solve) result = {Phase::narrow, Phase::factor, Phase::finish_factor};
    if (operation != Operation::factor)
        result.insert(result.end(), {Phase::residual, Phase::judge, Phase::forward, Phase::backward, Phase::correct, Phase::deliver});
    return result;
}

std::vector<Phase> phases_of(const Spec& spec, Operation operation, const Variant& variant) {
    const bool mixed = spec.precision == Precision::mixed;
    auto result = mixed ? possible_mixed_phases(operation) : possible_phases(operation, variant.rhs_rides);
    if (!variant.finishes)
        std::erase_if(result, [](Phase phase) { return phase == Phase::finish_factor || phase == Phase::finish_forward; });
    return result;
}

/// Every round takes the residual of what it has, the first that of x = 0, and corrects by the solution for that. One launch after another.
Launches build_mixed(const Program& program, Operation operation) {
    GraphBuilder graph(program);
    if (operation != Operation::solve) {
        graph.rows(Phase::narrow);
        graph.climb(Phase::factor);
        if (program.variant.finishes) graph.members(Phase::finish_factor);
    }
    if (operation == Operation::factor) return graph.done();
    for (int round = 0; round <= refinement_rounds; ++round) {
        graph.rows(Phase::residual, round);
        graph.members(Phase::judge, round);
        if (round == refinement_rounds) break;
        graph.climb(Phase::forward);
        graph.descend(Phase::backward);
        graph.rows(Phase::correct, round);
    }
    graph.rows(Phase::deliver);
    return graph.done();
}

/// Up the levels, or down them, or (the finish kernels) a leaf beside them.
Launches build_operation(const Program& program, Operation operation) {
    if (program.spec.precision == Precision::mixed) return build_mixed(program, operation);
    GraphBuilder graph(program);
    for (const auto phase : phases_of(program.spec, operation, program.variant)) {
        if (phase == Phase::finish_factor || phase == Phase::finish_forward)
            graph.aside(phase);
        else if (phase == Phase::backward || phase == Phase::inverse)
            graph.descend(phase);
        else
            graph.climb(phase);
    }
    return graph.done();
}

/// The phases that the Spec's operations need, in the order of `phases` and `mixed_phases`.
std::vector<Phase> phases_of(const Spec& spec, const Variant& variant) {
    std::vector<Phase> result;
    const auto add = [&](Phase phase) {
        const auto needs = [&](Operation operation) { return std::ranges::count(phases_of(spec, operation, variant), phase) > 0; };
        if (std::ranges::any_of(spec.operations, needs)) result.push_back(phase);
    };
    std::ranges::for_each(phases, add);
    std::ranges::for_each(mixed_phases, add);
    return result;
}

/// Mixed precision has no sweeps of their own: what they give would have the accuracy of f32.
Spec without_sweeps(Spec spec) {
    if (spec.precision != Precision::mixed) return spec;
    for (const auto operation : {Operation::forward, Operation::backward, Operation::factor_forward}) spec.operations.erase(operation);
    return spec;
}

nlohmann::json level_json(const Level& level) {
    auto runs = nlohmann::json::array();
    for (const auto& run : level.runs)
        runs.push_back({{"first", run.first}, {"stride", run.stride}, {"count", run.count}, {"length", run.length}, {"step", run.step}});
    return {{"base", level.base}, {"scale", level.scale}, {"size", level.size}, {"runs", runs}};
}

}  // namespace

std::string_view to_string(Phase phase) {
    constexpr std::array<std::string_view, 12> names{"factor",         "factor_forward", "forward",  "backward", "inverse", "finish_factor",
                                                     "finish_forward", "narrow",         "residual", "judge",    "correct", "deliver"};
    return names.at(static_cast<std::size_t>(phase));
}

trifold_level kernel_level(const Schedule& schedule, std::size_t index) {
    const auto& level = schedule.levels.at(index);
    trifold_level result{};
    result.index = static_cast<trifold_int>(index);
    result.base = level.base;
    result.scale = level.scale;
    result.size = level.size;
    if (index + 1 < schedule.levels.size()) {
        const auto& next = schedule.levels[index + 1];
        result.next_base = next.base;
        result.next_scale = next.scale;
        result.next_size = next.size;
    }
    for (std::size_t k = 1; k < index; ++k) result.coupling += schedule.levels[k].size - 1;
    result.next_coupling = result.coupling + (index == 0 ? 0 : level.size - 1);
    result.chains = level.chains();
    result.runs = static_cast<trifold_int>(level.runs.size());
    for (std::size_t k = 0; k < level.runs.size(); ++k) {
        const auto& run = level.runs[k];
        result.run[k] = {run.first, run.stride, run.count, run.length, run.step};
    }
    return result;
}

Program generate(const Spec& spec, const Target& target, const Tuning& tuning) {
    validate(spec);
    validate(target);
    if (target.backend == Backend::c99)
        throw SpecError(
            fmt::format("target '{}' has no kernels to generate; run trifold export, or give another target", to_string(target)));
    if (tuning.workers < 1) throw SpecError(fmt::format("workers = {} is out of range; give at least 1", tuning.workers));
    Program program;
    program.spec = without_sweeps(spec);
    const auto inner = inner_spec(program.spec);
    program.target = target;
    program.tuning = tuning;
    program.schedule =
        tuning.schedule == "auto" ? choose_schedule(inner, target, tuning.workers) : parse_schedule(tuning.schedule, spec.horizon);
    const bool on_cpu = target.backend == Backend::cpu;
    program.variant = (on_cpu ? cpu::choose_variant : cuda::choose_variant)(inner, target, tuning, program.schedule);
    program.id = identity(program);
    for (const auto phase : phases_of(program.spec, program.variant))
        program.kernels.push_back({kernel_name(program, phase), phase, program.variant.shapes.at(phase)});
    const auto plan = plan_memory(program);
    program.buffers = plan.buffers;
    program.workspace_bytes =
        checked_add(plan.bytes, checked_multiply(program.variant.scratch_bytes, tuning.workers, "scratch of the workers"), "workspace");
    for (const auto operation : program.spec.operations) program.operations[operation] = build_operation(program, operation);
    program.options = (on_cpu ? cpu::compile_options : cuda::compile_options)(target, program.variant);
    program.source = (on_cpu ? cpu::emit : cuda::emit)(program);
    return program;
}

bool has_kernel(const Program& program, Phase phase) { return kernel_index(program, phase) < program.kernels.size(); }

const Buffer& buffer(const Program& program, std::string_view name) {
    const auto found = std::ranges::find(program.buffers, name, &Buffer::name);
    if (found == program.buffers.end()) throw SpecError(fmt::format("the Program has no buffer '{}'", name));
    return *found;
}

std::string to_json(const Program& program) {
    auto json = identity_json(program);
    json["id"] = program.id;
    json["options"] = program.options;
    json["workspace_bytes"] = program.workspace_bytes;
    json["scratch_bytes"] = program.variant.scratch_bytes;
    for (const auto& level : program.schedule.levels) json["levels"].push_back(level_json(level));
    for (const auto& item : program.buffers)
        json["buffers"].push_back({{"name", item.name}, {"offset", item.offset}, {"bytes", item.bytes}, {"zeroed", item.zeroed}});
    for (const auto& kernel : program.kernels)
        json["kernels"].push_back({{"name", kernel.name},
                                   {"phase", to_string(kernel.phase)},
                                   {"chains_per_task", kernel.shape.chains_per_task},
                                   {"members_per_task", kernel.shape.members_per_task},
                                   {"threads", kernel.shape.threads},
                                   {"all_levels", kernel.shape.all_levels},
                                   {"shared_bytes", kernel.shape.shared_bytes}});
    for (const auto& [operation, launches] : program.operations) {
        auto& list = json["operations"][std::string(to_string(operation))];
        for (const auto& launch : launches)
            list.push_back({{"kernel", program.kernels[launch.kernel].name},
                            {"level", launch.level.index},
                            {"chains", launch.level.chains},
                            {"after", launch.after}});
    }
    return json.dump(2);
}

}  // namespace trifold
