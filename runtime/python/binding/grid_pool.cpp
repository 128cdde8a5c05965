#include "runtime/python/binding/grid_pool.hpp"

#include <algorithm>
#include <list>
#include <mutex>
#include <new>

#include "runtime/base/fork_safe_cache.hpp"

namespace trifold::python {
namespace {

constexpr std::size_t max_grid_plans = 256, max_idle_solvers = 8;
constexpr std::int64_t max_idle_bytes = std::int64_t{1} << 30;

/// The arguments of a GridPlan.
struct GridPlanKey {
    GridSpec spec;
    Device device;
    GridTuning tuning;
    bool operator==(const GridPlanKey& other) const {
        return spec == other.spec && tuning == other.tuning && device.backend() == other.device.backend() &&
               device.ordinal() == other.device.ordinal() && device.target().arch == other.device.target().arch;
    }
};

struct IdleSolver {
    GridPlan plan;
    std::unique_ptr<GridSolver> solver;
    Stream stream;
    std::int64_t bytes;
};

/// Solvers that wait for work, the most recently used ones first.
struct IdleSolvers {
    std::mutex mutex;
    std::list<IdleSolver> idle;

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
            if (count < max_idle_solvers && bytes + one->bytes <= max_idle_bytes) {
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

// Never destroyed: at exit there may be work in flight, and threads in a call.
auto& grid_plans = *new ForkSafeCache<GridPlanKey, GridPlan>(max_grid_plans);
auto& idle_solvers = *new PerProcess<IdleSolvers>;

}  // namespace

PooledGridSolver::PooledGridSolver(const GridSpec& spec, const Device& device, const GridTuning& tuning, Stream stream)
    : forks_(forks()),
      plan_(*grid_plans.get({spec, device, tuning}, [&] { return std::make_shared<GridPlan>(spec, device, tuning); })),
      stream_(stream) {
    auto found = idle_solvers->take(plan_, stream);
    solver_ = found.empty() ? std::make_unique<GridSolver>(plan_) : std::move(found.front().solver);
}

PooledGridSolver::~PooledGridSolver() {
    if (forks_ != forks()) {
        static_cast<void>(solver_.release());
        return;
    }
    try {
        const auto dropped = idle_solvers->give({plan_, std::move(solver_), stream_, GridSolver::workspace_bytes(plan_)});
    } catch (const std::bad_alloc&) {  // then it is destroyed
    }
}

}  // namespace trifold::python
