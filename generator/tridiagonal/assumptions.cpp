#include "generator/program/device.hpp"
#include "generator/program/require.hpp"
#include "generator/tridiagonal/design.hpp"

namespace trifold {
namespace {

constexpr std::int64_t max_threads = 1024, max_groups = 0x7fffffff, max_member_groups = 65535;  // limits of every GPU

/// The assumptions about one launch.
class Assumptions {
  public:
    Assumptions(const Design& design, const Step& step) : design_(design), step_(step), kernel_(design.kernels.at(step.kernel)) {}

    void check() const {
        members();
        if (treats_members(kernel_.phase))
            holds(step_.level.chains == 1, "it has {} chains, and treats members", step_.level.chains);
        else if (has_kernel(design_, Phase::adopt))
            holds(step_.level.size == 2 && step_.level.next_size == 2, "a path of {} blocks has no one coupling", step_.level.size);
        else if (kernel_.shape.all_levels)
            everything();
        else
            level();
        if (design_.target.backend != Backend::cpu) thread_blocks();
    }

  private:
    template <class... Values>
    void holds(bool truth, fmt::format_string<Values...> what, Values&&... values) const {
        if (truth) return;
        require(false, "the launch '{} {}' of variant '{}' with {} blocks of {} on {}: {}", to_string(kernel_.phase), step_.levels,
                design_.variant, design_.spec.horizon, design_.spec.block, to_string(design_.target),
                fmt::format(what, std::forward<Values>(values)...));
    }
    bool is_inverse() const { return kernel_.phase == Phase::inverse_coupling || kernel_.phase == Phase::inverse_diagonal; }

    /// There is room for all systems, in whole groups.
    void members() const {
        const auto each = kernel_.shape.members_per_task, room = design_.lowered.members;
        holds(each >= 1 && room >= design_.spec.batch, "there is room for {} systems, and there are {}", room, design_.spec.batch);
        holds(design_.target.backend != Backend::cpu || room % each == 0, "groups of {} have parts of the {} systems", each, room);
    }
    /// A launch of all levels has a thread block for each front, or the number of thread blocks that its shape names.
    void everything() const {
        const auto& shape = kernel_.shape;
        const auto expected = shape.groups > 0 ? shape.groups : design_.spec.horizon;
        holds(step_.level.chains == expected, "{} fronts are claimed, and there are {}", step_.level.chains, expected);
        holds(shape.chains_per_task == 1, "a thread block claims one front, not {}", shape.chains_per_task);
    }
    void level() const {
        const auto& level = step_.level;
        holds(level.runs >= 1 && level.runs <= static_cast<trifold_int>(std::size(level.run)), "{} runs", level.runs);
        trifold_int chains = 0;
        for (trifold_int k = 0; k < level.runs; ++k) {
            const auto& run = level.run[k];
            holds(run.count >= 1 && run.length >= (is_inverse() ? 0 : 1), "a run has {} chains of {} fronts", run.count, run.length);
            chains += run.count;
        }
        holds(chains == level.chains, "runs have {} chains, and the level has {}", chains, level.chains);
        const auto& shape = kernel_.shape;
        holds(shape.chains_per_task >= 1 && shape.groups_per_chain >= 1, "tasks have {} chains, and chains {} tasks", shape.chains_per_task,
              shape.groups_per_chain);
    }
    void thread_blocks() const {
        const auto& [threads, shared] = std::pair(kernel_.shape.threads, kernel_.shape.shared_bytes);
        const auto limit = device_of(design_.target).count("facts.block_shared_bytes"), lanes = std::int64_t{warp_lanes(design_.target)};
        holds(threads >= 1 && threads % lanes == 0 && threads <= max_threads, "{} threads are no whole warps of {}, up to {}", threads,
              lanes, max_threads);
        holds(shared >= 0 && shared <= limit, "it needs {} bytes of shared memory, and there are {}", shared, limit);
        const auto groups = groups_of(design_, step_), each = kernel_.shape.members_per_task;
        holds(groups >= 1 && groups <= max_groups, "{} thread blocks are not counted in 31 bits", groups);
        holds((design_.lowered.members + each - 1) / each <= max_member_groups, "groups of {} members are too many", each);
    }

    const Design& design_;
    const Step& step_;
    const PhaseKernel& kernel_;
};

}  // namespace

void require_sound(const Design& design, const Step& step) { Assumptions(design, step).check(); }

}  // namespace trifold
