#include "generator/launches.hpp"

#include <algorithm>

#include "generator/mixed.hpp"

namespace trifold {
namespace {

using Launches = std::vector<Launch>;

void append(Launches& launches, std::size_t kernel, const trifold_level& level, std::vector<std::size_t> after) {
    launches.push_back({kernel, level, std::move(after), false});
}

class GraphBuilder {
  public:
    explicit GraphBuilder(const Program& program) : program_(program), schedule_(program.schedule) {}
    /// A kernel over every level, each after the one before it.
    void climb(Phase phase) {
        if (phase == Phase::factor_wide && program_.variant.wide_levels == 0) return;
        if (phase == Phase::factor && program_.variant.wide_levels > 0) return above_wide_levels();
        if (program_.variant.shapes.at(phase).all_levels) return everything(phase);
        for (std::size_t k = 0; k < schedule_.levels.size(); ++k) chain(phase, kernel_level(schedule_, k));
    }
    void descend(Phase phase) {
        if (program_.variant.shapes.at(phase).all_levels) {
            everything(phase);
            if (phase == Phase::backward) overlap();
            return;
        }
        for (std::size_t k = schedule_.levels.size(); k-- > 0;) chain(phase, kernel_level(schedule_, k));
    }
    /// A leaf that later launches do not wait for.
    void aside(Phase phase) {
        trifold_level all{};
        all.chains = 1;
        append(launches_, kernel_index(program_, phase), all, tail_);
        if (phase == Phase::finish_factor) overlap();
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
    /// The factorization of the levels above the wide ones begins while those are at work; later launches wait for both.
    void above_wide_levels() {
        const auto wide = tail_;
        everything(Phase::factor);
        launches_.back().early = true;
        tail_.insert(tail_.begin(), wide.begin(), wide.end());
    }
    /// The last launch begins while the one it waits for is at work (Start in templates/device/dataflow.cuh).
    void overlap() {
        auto& launch = launches_.back();
        if (!program_.variant.overlaps || launch.after.empty()) return;
        auto& before = launches_[launch.after.front()];
        launch.early = true;
        launch.level.index = program_.kernels[before.kernel].phase == Phase::forward ? beside_forward : beside_factor;
        if (program_.kernels[launch.kernel].phase == Phase::backward) before.level.index = launch.level.index;  // leaves words for it
    }
    static constexpr trifold_int beside_factor = 1, beside_forward = 2;
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
    if (const auto factor = std::ranges::find(result, Phase::factor); factor != result.end() && variant.wide_levels > 0)
        result.insert(factor, Phase::factor_wide);
    if (!variant.finishes)
        std::erase_if(result, [](Phase phase) { return phase == Phase::finish_factor || phase == Phase::finish_forward; });
    return result;
}

/// Every round takes the residual of what it has, the first that of x = 0, and corrects by the solution for that. One launch after another.
Launches build_mixed(const Program& program, Operation operation) {
    GraphBuilder graph(program);
    if (operation != Operation::solve) {
        graph.rows(Phase::narrow);
        graph.climb(Phase::factor_wide);
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

}  // namespace

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

std::size_t kernel_index(const Program& program, Phase phase) {
    return static_cast<std::size_t>(std::ranges::find(program.kernels, phase, &Kernel::phase) - program.kernels.begin());
}

/// Up the levels, or down them, or (the finish kernels) a leaf beside them.
std::vector<Launch> build_operation(const Program& program, Operation operation) {
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

std::vector<Phase> phases_of(const Spec& spec, const Variant& variant) {
    std::vector<Phase> result;
    const auto add = [&](Phase phase) {
        const auto needs = [&](Operation operation) { return std::ranges::count(phases_of(spec, operation, variant), phase) > 0; };
        if (std::ranges::any_of(spec.operations, needs)) result.push_back(phase);
    };
    std::ranges::for_each(phases, add);
    std::ranges::for_each(mixed_phases, add);
    add(Phase::factor_wide);
    return result;
}

}  // namespace trifold
