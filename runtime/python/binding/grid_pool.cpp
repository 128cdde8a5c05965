#include "runtime/python/binding/grid_pool.hpp"

#include <algorithm>
#include <atomic>
#include <list>
#include <mutex>
#include <new>

#include "runtime/python/binding/unlocked.hpp"

namespace trifold::python {
namespace {

constexpr std::size_t most_grid_plans = 256, most_idle_solvers = 8;
constexpr std::int64_t most_idle_bytes = std::int64_t{1} << 30;

struct GridPlanEntry {
    GridPlanEntry(const GridSpec& of, const Device& at, const GridTuning& by) : spec(of), device(at), tuning(by) {}
    bool is_for(const GridSpec& of, const Device& at, const GridTuning& by) const {
        return spec == of && tuning == by && device.backend() == at.backend() && device.ordinal() == at.ordinal() &&
               device.target().arch == at.target().arch;
    }
    GridSpec spec;
    Device device;
    GridTuning tuning;
    std::mutex making;
    std::unique_ptr<GridPlan> plan;
};

struct IdleSolver {
    GridPlan plan;
    std::unique_ptr<GridSolver> solver;
    Stream stream;
    std::int64_t bytes;
};

/// What one process has: after a fork the child has its own, since locks and threads of the parent are not in it.
struct GridPools {
    int born = forks();
    std::mutex mutex;
    std::list<std::shared_ptr<GridPlanEntry>> plans;  // the most recently used ones first
    std::list<IdleSolver> idle;                       // likewise

    std::shared_ptr<GridPlanEntry> entry(const GridSpec& spec, const Device& device, const GridTuning& tuning) {
        const std::scoped_lock lock(mutex);
        const auto found = std::ranges::find_if(plans, [&](const auto& one) { return one->is_for(spec, device, tuning); });
        if (found == plans.end())
            plans.push_front(std::make_shared<GridPlanEntry>(spec, device, tuning));
        else
            plans.splice(plans.begin(), plans, found);
        if (plans.size() > most_grid_plans) plans.pop_back();
        return plans.front();
    }

    /// One that waits, of this very plan, whose last work went to this stream: others may not exist any more, so they cannot be waited for.
    std::list<IdleSolver> take(const GridPlan& plan, Stream stream) {
        const std::scoped_lock lock(mutex);
        std::list<IdleSolver> taken;
        const auto found = std::ranges::find_if(
            idle, [&](const auto& one) { return &one.plan.program() == &plan.program() && one.stream.handle == stream.handle; });
        if (found != idle.end()) taken.splice(taken.begin(), idle, found);
        return taken;
    }

    /// Gives what there is no room for, to be destroyed without the lock.
    std::list<IdleSolver> give(IdleSolver solver) {
        const std::scoped_lock lock(mutex);
        idle.push_front(std::move(solver));
        std::list<IdleSolver> dropped;
        std::int64_t bytes = 0;
        std::size_t count = 0;
        for (auto one = idle.begin(); one != idle.end();) {
            const auto next = std::next(one);
            if (count < most_idle_solvers && bytes + one->bytes <= most_idle_bytes) {
                bytes += one->bytes;
                ++count;
            } else {
                dropped.splice(dropped.end(), idle, one);
            }
            one = next;
        }
        return dropped;
    }
};

/// Never destroyed: at exit there may be work in flight, and threads in a call.
GridPools& grid_pools() {
    static std::atomic<GridPools*> current = new GridPools;
    auto* pools = current.load();
    if (pools->born == forks()) return *pools;
    auto* renewed = new GridPools;
    return current.compare_exchange_strong(pools, renewed) ? *renewed : *current;
}

GridPlan plan_for(const GridSpec& spec, const Device& device, const GridTuning& tuning) {
    const auto entry = grid_pools().entry(spec, device, tuning);
    const std::scoped_lock lock(entry->making);  // others may make theirs at the same time
    if (!entry->plan) entry->plan = std::make_unique<GridPlan>(spec, device, tuning);
    return *entry->plan;
}

}  // namespace

GridLoan::GridLoan(const GridSpec& spec, const Device& device, const GridTuning& tuning, Stream stream)
    : forks_(forks()), plan_(plan_for(spec, device, tuning)), stream_(stream) {
    auto found = grid_pools().take(plan_, stream);
    solver_ = found.empty() ? std::make_unique<GridSolver>(plan_) : std::move(found.front().solver);
}

GridLoan::~GridLoan() {
    if (forks_ != forks()) {
        static_cast<void>(solver_.release());
        return;
    }
    try {
        const auto dropped = grid_pools().give({plan_, std::move(solver_), stream_, GridSolver::workspace_bytes(plan_)});
    } catch (const std::bad_alloc&) {  // then it is destroyed
    }
}

}  // namespace trifold::python
