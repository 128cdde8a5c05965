#include <chrono>
#include <cstring>
#include <map>
#include <optional>
#include <trifold/error.hpp>

#include "runtime/device/host_graph.hpp"
#include "runtime/device/host_memory.hpp"
#include "runtime/tridiagonal/engine.hpp"

namespace trifold {
namespace {

class CpuEngine final : public Engine {
  public:
    CpuEngine(std::shared_ptr<const Plan::State> plan, void* workspace, Holds holds) : plan_(std::move(plan)) {
        const auto& program = plan_->program;
        if (workspace == nullptr)
            own_ = allocate_on_host(program.workspace_bytes, "give a smaller horizon, batch or number of right-hand sides");
        workspace_ = workspace == nullptr ? own_.get() : workspace;
        if (holds == Holds::nothing) clear(true, {});
        graph_.emplace(program, plan_->loaded.functions, scratch_of(program, workspace_),
                       program.workers > 1 ? spin_time(plan_->choice.tuning.spin_microseconds) : std::chrono::microseconds(0));
        for (const auto operation : plan_->choice.spec.operations)
            operations_[operation] = &graph_->operation(std::string(to_string(operation)));
    }

    void adopt(void* workspace, Stream) override {
        workspace_ = workspace;
        graph_->set_scratch(scratch_of(plan_->program, workspace_));
    }
    void clear(bool whole, Stream) override { clear_workspace(plan_->program, workspace_, whole); }
    bool captures(Stream) const override { return false; }
    void copy(void* to, std::int64_t offset, std::int64_t bytes, Stream) override { read(to, offset, bytes); }
    void copy_from(const void* workspace, Stream) override {
        std::memcpy(workspace_, workspace, static_cast<std::size_t>(plan_->program.workspace_bytes));
    }

    bool run(Operation operation, const trifold_args& args, Stream, StreamTimer* timer) override {
        const CallOperands operands(*plan_, args);
        if (timer != nullptr) timer->start(nullptr);
        graph_->run(*operations_.at(operation), operands.list);
        if (timer != nullptr) timer->stop(nullptr);
        return false;
    }
    std::unique_ptr<StreamTimer> make_timer() const override { return std::make_unique<HostTimer>(); }

    void set_executor(Executor executor) override {
        if (!executor) throw SpecError("the executor is empty; give a function that runs its tasks");
        graph_->set_executor(std::move(executor));
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
    std::shared_ptr<const Plan::State> plan_;
    HostMemory own_;
    std::map<Operation, const HostGraph::Steps*> operations_;
    std::optional<HostGraph> graph_;  // last, so that its threads end first
};

}  // namespace

std::unique_ptr<Engine> make_cpu_engine(std::shared_ptr<const Plan::State> plan, void* workspace, Holds holds) {
    return std::make_unique<CpuEngine>(std::move(plan), workspace, holds);
}

}  // namespace trifold
