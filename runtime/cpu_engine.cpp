#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <trifold/error.hpp>

#include "generator/operands.hpp"
#include "runtime/engine.hpp"
#include "runtime/pool.hpp"
#include "runtime/switches.hpp"

namespace trifold {
namespace {

using Entry = void (*)(const trifold_args*, const trifold_level*, trifold_int first_task, trifold_int last_task, void* scratch);

/// A launch, ready to run.
struct Step {
    Entry entry;
    trifold_level level;
    std::int64_t chain_groups, members_per_task;
    Operands operands;
};

constexpr std::int64_t pieces_per_worker = 4;
constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

struct Free {
    void operator()(void* memory) const { std::free(memory); }
};

std::unique_ptr<void, Free> allocate(std::int64_t bytes) {
    constexpr std::int64_t huge_page = 2 << 20;
    const auto size = static_cast<std::size_t>(bytes);
    const auto installed = static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::int64_t>(sysconf(_SC_PAGESIZE));
    void* memory = nullptr;
    if (bytes > installed || posix_memalign(&memory, bytes < 2 * huge_page ? workspace_alignment : huge_page, size) != 0)
        throw DeviceError(fmt::format(
            "the workspace needs {} bytes of memory and the machine has {}; give a smaller horizon, batch or number of right-hand sides",
            bytes, installed));
    if (bytes >= 2 * huge_page) madvise(memory, size, MADV_HUGEPAGE);  // advice: nothing depends on it
    return std::unique_ptr<void, Free>(memory);
}

std::vector<Step> steps_of(const Plan::State& plan, Operation operation) {
    std::vector<Step> steps;
    for (const auto& launch : plan.program.operations.at(operation)) {
        const auto& kernel = plan.program.kernels[launch.kernel];
        steps.push_back({reinterpret_cast<Entry>(plan.functions[launch.kernel]), launch.level,
                         divide_up(launch.level.chains, kernel.shape.chains_per_task), kernel.shape.members_per_task,
                         operands_of(plan.program.spec, operation, kernel.phase)});
    }
    return steps;
}

/// Throws SpecError on what is no time that a thread could stay awake.
std::chrono::microseconds spin_of(const Tuning& tuning) {
    constexpr int most = 1'000'000;
    const auto value = switch_value("TRIFOLD_SPIN");
    int spin = tuning.spin_microseconds;
    if (spin == Tuning::standard_spin) {
        spin = static_cast<int>(Pool::standard_spin.count());
        const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), spin);
        if (!value.empty() && (error != std::errc() || end != value.data() + value.size() || spin < 0 || spin > most))
            throw SpecError(fmt::format("TRIFOLD_SPIN = '{}' is no time; give whole microseconds from 0 to {}", value, most));
    }
    if (spin < 0 || spin > most) throw SpecError(fmt::format("spin_microseconds = {} is out of range; give 0 to {}", spin, most));
    return std::chrono::microseconds(spin);
}

class CpuEngine final : public Engine {
  public:
    CpuEngine(std::shared_ptr<const Plan::State> plan, void* workspace) : plan_(std::move(plan)), workers_(plan_->program.tuning.workers) {
        const auto& program = plan_->program;
        for (const auto operation : program.spec.operations) steps_[operation] = steps_of(*plan_, operation);
        for (const auto& kernel : program.kernels) group_ = std::max(group_, kernel.shape.members_per_task);
        if (workspace == nullptr) own_ = allocate(program.workspace_bytes);
        workspace_ = workspace == nullptr ? own_.get() : workspace;
        std::memset(workspace_, 0xff, static_cast<std::size_t>(program.workspace_bytes));
        scratch_ = static_cast<char*>(workspace_) + program.workspace_bytes - workers_ * program.variant.scratch_bytes;
        if (workers_ > 1) pool_.emplace(workers_, pieces_per_worker * workers_, spin_of(program.tuning));
    }

    void run(Operation operation, const trifold_args& args, Stream) override {
        const LaunchArgs all(plan_->program.spec, plan_->program.buffers, args);
        const auto& steps = steps_.at(operation);
        const auto groups = divide_up(args.members, group_);
        args_ = &all;
        by_members_ = workers_ == 1 || groups >= pieces_per_worker * workers_;
        if (by_members_) return share(steps, groups);
        for (const auto& step : steps) share({&step, 1}, step.chain_groups * divide_up(args.members, step.members_per_task));
    }

    void set_executor(Executor executor) override {
        if (!executor) throw SpecError("the executor is empty; give a function that runs its tasks");
        executor_ = std::move(executor);
        run_piece_ = [this](std::int64_t task, int worker) { check_and_run_piece(task, worker); };
        pool_.reset();
    }

    void synchronize() override {}
    void read(void* host, std::int64_t offset, std::int64_t bytes) override {
        std::memcpy(host, static_cast<const char*>(workspace_) + offset, static_cast<std::size_t>(bytes));
    }
    Stream host_stream() const override { return {}; }
    void* device_array(Array, const void* host, std::int64_t) override { return const_cast<void*>(host); }
    void upload(void*, const void*, std::int64_t) override {}
    void download(void*, const void*, std::int64_t) override {}

  private:
    /// Shares out one launch by its tasks; or, where members alone keep the workers busy, all launches by groups of members: a group's
    /// factor is then still in the nearest caches when it is swept.
    void share(std::span<const Step> steps, std::int64_t units) {
        steps_in_progress_ = steps;
        units_ = units;
        if (units == 1 || workers_ == 1) return run_units(0, units, 0);
        // A few pieces a worker, so that one that is held up costs little.
        pieces_ = std::min(units, pieces_per_worker * workers_);
        if (pool_)
            pool_->run(
                pieces_, [](void* self, std::int64_t piece, int worker) { static_cast<CpuEngine*>(self)->run_piece(piece, worker); }, this);
        else
            run_on_executor();
    }

    void run_piece(std::int64_t piece, int worker) {
        // Not piece * units / pieces, which could overflow.
        const auto each = units_ / pieces_, extra = units_ % pieces_;
        const auto first = piece * each + std::min(piece, extra);
        run_units(first, first + each + (piece < extra ? 1 : 0), worker);
    }

    void run_units(std::int64_t first, std::int64_t last, int worker) {
        if (!by_members_) return run_tasks(steps_in_progress_[0], first, last, worker);
        for (auto group = first; group < last; ++group)
            for (const auto& step : steps_in_progress_) {
                const std::int64_t members = (*args_)[step.operands].members;
                const auto task = [&](std::int64_t member) {
                    return step.chain_groups * divide_up(std::min(member, members), step.members_per_task);
                };
                run_tasks(step, task(group * group_), task((group + 1) * group_), worker);
            }
    }

    void run_tasks(const Step& step, std::int64_t first, std::int64_t last, int worker) {
        step.entry(&(*args_)[step.operands], &step.level, first, last, scratch_ + worker * plan_->program.variant.scratch_bytes);
    }

    void run_on_executor() {
        ended_.store(0, std::memory_order_relaxed);
        executor_(pieces_, run_piece_);
        if (ended_.load(std::memory_order_acquire) != pieces_)
            throw LaunchError(fmt::format(
                "the executor ran {} of {} tasks, each with a task number below {} and a worker number below {} counted; it must run "
                "every task once before it returns",
                ended_.load(), pieces_, pieces_, workers_));
    }

    void check_and_run_piece(std::int64_t piece, int worker) {
        if (piece < 0 || piece >= pieces_ || worker < 0 || worker >= workers_) return;  // reported by run_on_executor
        run_piece(piece, worker);
        ended_.fetch_add(1, std::memory_order_release);
    }

    std::shared_ptr<const Plan::State> plan_;
    int workers_;
    std::unique_ptr<void, Free> own_;
    char* scratch_ = nullptr;
    std::map<Operation, std::vector<Step>> steps_;
    std::int64_t group_ = 1;  // members that share a task
    // What is in progress.
    std::span<const Step> steps_in_progress_;
    const LaunchArgs* args_ = nullptr;
    bool by_members_ = false;
    std::int64_t units_ = 0, pieces_ = 0;  // units are groups of members, or tasks
    std::atomic<std::int64_t> ended_{0};
    Executor executor_;
    std::function<void(std::int64_t, int)> run_piece_;
    std::optional<Pool> pool_;  // last, so that its threads end first
};

}  // namespace

std::unique_ptr<Engine> make_cpu_engine(std::shared_ptr<const Plan::State> plan, void* workspace) {
    return std::make_unique<CpuEngine>(std::move(plan), workspace);
}

}  // namespace trifold
