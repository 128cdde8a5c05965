#include <array>
#include <cstring>

#include "runtime/device/host_graph.hpp"
#include "runtime/device/host_memory.hpp"
#include "runtime/grid/engine.hpp"

namespace trifold {
namespace {

/// Clearing it as a whole also brings its pages, so that the first call need not wait for them.
HostMemory workspace_of(const Program& program) {
    auto memory = allocate_on_host(program.workspace_bytes, "give a smaller image, batch or number of right-hand sides");
    clear_workspace(program, memory.get(), true);
    return memory;
}

class GridCpuEngine final : public GridEngine {
  public:
    explicit GridCpuEngine(std::shared_ptr<const GridPlan::State> plan)
        : plan_(std::move(plan)),
          memory_(workspace_of(plan_->program)),
          graph_(plan_->program, plan_->loaded.functions, scratch_of(plan_->program, memory_.get()),
                 spin_time(plan_->choice.tuning.spin_microseconds)) {
        workspace_ = memory_.get();
    }
    void run(const std::string& operation, const trifold_grid_args& args, Stream) override {
        const std::array operands{Operand{&args, sizeof args, args.members}};
        graph_.run(graph_.operation(operation), operands);
    }
    void check_pointer(const void*, const std::string&) override {}
    void read(void* host, std::int64_t offset, std::int64_t bytes) override {
        std::memcpy(host, static_cast<const char*>(workspace_) + offset, static_cast<std::size_t>(bytes));
    }
    void write(std::int64_t offset, const void* host, std::int64_t bytes) override {
        std::memcpy(static_cast<char*>(workspace_) + offset, host, static_cast<std::size_t>(bytes));
    }
    void synchronize() override {}
    void set_executor(Executor executor) override { graph_.set_executor(std::move(executor)); }
    Stream host_stream() const override { return {}; }
    void* device_array(GridRole, void* host, std::int64_t) override { return host; }
    void upload(void*, const void*, std::int64_t) override {}
    void download(void*, const void*, std::int64_t) override {}

  private:
    std::shared_ptr<const GridPlan::State> plan_;
    HostMemory memory_;
    HostGraph graph_;
};

}  // namespace

std::unique_ptr<GridEngine> make_grid_cpu_engine(std::shared_ptr<const GridPlan::State> plan) {
    return std::make_unique<GridCpuEngine>(std::move(plan));
}

}  // namespace trifold
