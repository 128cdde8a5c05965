#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "generator/program/require.hpp"
#include "generator/tridiagonal/design.hpp"

namespace trifold {
namespace {

/// Puts launches one after another.
class Sequence {
  public:
    Sequence(const Design& design, Operation operation) : design_(design), operation_(operation) {}
    /// Adds a level, unless others eliminate its blocks.
    void level(Phase phase, std::size_t index) {
        if (design_.schedule.levels[index].runs.empty()) return;
        chain(phase, kernel_level(design_.schedule, index), fmt::format("level {}", index));
    }
    /// Adds work on the coupling of a path of two blocks, which others eliminate.
    void one_coupling(Phase phase) {
        auto level = kernel_level(design_.schedule, 0);
        level.chains = 1;
        if (level.size == 2) chain(phase, level, "level 0");
    }
    /// Adds one launch for all levels. It has a task for every front, or a fixed number of tasks that share the fronts.
    void everything(Phase phase) {
        auto level = kernel_level(design_.schedule, 0);
        const auto groups = design_.lowered.shapes.at(phase).groups;
        level.chains = groups > 0 ? groups : design_.schedule.horizon;
        chain(phase, level, "all levels");
    }
    /// Adds the selected inverse of large blocks, from the last front of each chain to the first: couplings, then the diagonal block.
    /// Kernels treat the last front of a chain, so each step makes the chains shorter by one. The first step at the last level has no
    /// couplings.
    void fronts(std::size_t index) {
        if (design_.schedule.levels[index].runs.empty()) return;
        const auto whole = kernel_level(design_.schedule, index);
        for (trifold_int done = 0; done < design_.schedule.levels[index].longest(); ++done) {
            auto level = whole;
            for (auto& run : level.run) run.length = std::max<trifold_int>(run.length - done, 0);
            const auto what = fmt::format("level {}", index);
            if (done > 0 || whole.next_size > 0) chain(Phase::inverse_coupling, level, what);
            chain(Phase::inverse_diagonal, level, what);
        }
    }
    /// Adds work on members as a whole. Of this, later launches wait for the lengths alone.
    void members(Phase phase) {
        trifold_level all{};
        all.chains = 1;
        append(phase, all, {});
        if (phase == Phase::lengths) tail_ = {steps_.size() - 1};
    }
    std::vector<Step> done() { return std::move(steps_); }

  private:
    /// A backward sweep starts from what a forward sweep of the same operation left in X.
    Operands operands(Phase phase) const {
        if (is_wrapped(design_)) return Operands::copies;
        const bool descends = phase == Phase::backward || phase == Phase::backward_transposed;
        return descends && operation_ != Operation::backward ? Operands::caller_in_x : Operands::caller;
    }
    void append(Phase phase, const trifold_level& level, std::string levels) {
        const auto kernel = std::ranges::find(design_.kernels, phase, &PhaseKernel::phase) - design_.kernels.begin();
        steps_.push_back({static_cast<std::size_t>(kernel), level, operands(phase), tail_, false, std::move(levels)});
    }
    void chain(Phase phase, const trifold_level& level, std::string levels) {
        append(phase, level, std::move(levels));
        tail_ = {steps_.size() - 1};
    }
    const Design& design_;
    Operation operation_;
    std::vector<Step> steps_;
    std::vector<std::size_t> tail_;
};

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
    for (std::size_t k = 1; k < index; ++k) result.coupling += schedule.levels[k].couplings();
    result.next_coupling = result.coupling + (index == 0 ? 0 : level.couplings());
    require(level.runs.size() <= std::size(result.run), "level {} has {} runs, and kernels know {}", index, level.runs.size(),
            std::size(result.run));
    result.chains = level.chains();
    result.runs = static_cast<trifold_int>(level.runs.size());
    for (std::size_t k = 0; k < level.runs.size(); ++k) {
        const auto& run = level.runs[k];
        result.run[k] = {run.first, run.stride, run.count, run.length, run.step};
    }
    return result;
}

std::vector<Step> plain_steps(const Design& design, Operation operation) {
    Sequence sequence(design, operation);
    const auto levels = design.schedule.levels.size();
    for (const auto phase : design.lowered.phases.at(operation)) {
        const bool is_downward = phase == Phase::backward || phase == Phase::backward_transposed || phase == Phase::inverse;
        if (has_kernel(design, Phase::adopt) && (phase == Phase::adopt || phase == Phase::inverse))
            sequence.one_coupling(phase);
        else if (phase == Phase::inverse_coupling)
            for (std::size_t k = levels; k-- > 0;) sequence.fronts(k);
        else if (phase == Phase::inverse_diagonal)
            continue;  // with the couplings
        else if (treats_members(phase))
            sequence.members(phase);
        else if (design.lowered.shapes.at(phase).all_levels)
            sequence.everything(phase);
        else
            for (std::size_t k = 0; k < levels; ++k) sequence.level(phase, is_downward ? levels - 1 - k : k);
    }
    return sequence.done();
}

}  // namespace trifold
