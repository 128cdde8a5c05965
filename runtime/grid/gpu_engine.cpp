#include <fmt/format.h>

#include <array>
#include <map>
#include <optional>
#include <trifold/error.hpp>

#include "runtime/base/switches.hpp"
#include "runtime/device/gpu_calls.hpp"
#include "runtime/device/gpu_graph.hpp"
#include "runtime/device/gpu_module.hpp"
#include "runtime/grid/engine.hpp"

namespace trifold::gpu {
namespace {

constexpr std::string_view smaller_image = "give a smaller image, batch or number of right-hand sides";

/// Everything that must be freed with the context current.
struct GridResources {
    GridResources(const Context& context, const GridPlan::State& plan)
        : stream(context.driver()), workspace(context, plan.program.workspace_bytes, "the workspace", smaller_image) {
        const auto& driver = context.driver();
        clear_workspace(driver, plan.program, workspace.get(), true, stream.get());
        trifold_grid_args args{};
        args.columns = args.used_columns = 1;
        args.members = plan.choice.spec.batch;
        args.workspace = workspace.get();
        const std::array operands{Operand{&args, sizeof args, args.members}};
        for (const auto& [name, launches] : plan.program.operations) {
            const auto& [_, graph] = *graphs.try_emplace(name, driver, plan.program, plan.loaded, name, operands).first;
            graph.upload(stream.get());
        }
        driver.synchronize_stream(stream.get());
    }
    OwnStream stream;
    Memory workspace;
    std::map<std::string, Graph> graphs;
    Staging<grid_roles> staging;
};

class GridGpuEngine final : public GridEngine {
  public:
    explicit GridGpuEngine(std::shared_ptr<const GridPlan::State> plan)
        : plan_(std::move(plan)),
          context_(static_cast<const Module*>(plan_->loaded.module.get())->context()),
          driver_(context_.driver()),
          as_graph_(!disabled("graph")),
          calls_(context_, "GridPlan", plan_->device.name()) {
        const Current current(context_);
        resources_.emplace(context_, *plan_);
        workspace_ = resources_->workspace.get();
        calls_.begin_on(resources_->stream.get());
    }
    ~GridGpuEngine() override {
        try {
            const Current current(context_);
            calls_.wait_for_all();  // work in flight uses the workspace and the plan's code
            resources_.reset();
        } catch (const Error&) {
            // The driver has shut down and freed everything.
        }
    }

    void run(const std::string& operation, const trifold_grid_args& args, Stream stream) override {
        const Current current(context_);
        auto* handle = stream.handle;
        calls_.check_stream(handle);
        const std::array operands{Operand{&args, sizeof args, args.members}};
        auto& graph = resources_->graphs.at(operation);
        if (!calls_.captures(handle) && as_graph_)
            graph.launch(operands, handle);
        else
            graph.enqueue(operands, handle);
        calls_.note(handle);
    }
    void check_pointer(const void* pointer, const std::string& what) override {
        const Current current(context_);
        calls_.check_pointer(pointer, what);
    }
    void synchronize() override {
        const Current current(context_);
        calls_.synchronize();
    }
    void read(void* host, std::int64_t offset, std::int64_t bytes) override {
        const Current current(context_);
        calls_.synchronize();
        auto* stream = resources_->stream.get();
        driver_.copy_to_host(host, static_cast<const char*>(workspace_) + offset, static_cast<std::size_t>(bytes), stream);
        driver_.synchronize_stream(stream);
    }
    void write(std::int64_t offset, const void* host, std::int64_t bytes) override {
        const Current current(context_);
        calls_.synchronize();
        auto* stream = resources_->stream.get();
        driver_.copy_to_device(static_cast<char*>(workspace_) + offset, host, static_cast<std::size_t>(bytes), stream);
        driver_.synchronize_stream(stream);
    }
    void set_executor(Executor) override {
        throw SpecError("an executor replaces the threads of a CPU; this GridPlan runs on " + plan_->device.name());
    }
    Stream host_stream() const override { return {resources_->stream.get()}; }
    void* device_array(GridRole role, void*, std::int64_t bytes) override {
        const Current current(context_);
        return resources_->staging.of(context_, static_cast<std::size_t>(role), bytes, "the device's copy of an array", smaller_image);
    }
    void upload(void* device, const void* host, std::int64_t bytes) override {
        const Current current(context_);
        driver_.copy_to_device(device, host, static_cast<std::size_t>(bytes), resources_->stream.get());
    }
    void download(void* host, const void* device, std::int64_t bytes) override {
        const Current current(context_);
        driver_.copy_to_host(host, device, static_cast<std::size_t>(bytes), resources_->stream.get());
    }

  private:
    std::shared_ptr<const GridPlan::State> plan_;
    const Context& context_;
    const Driver& driver_;
    bool as_graph_;
    Calls calls_;
    std::optional<GridResources> resources_;
};

}  // namespace
}  // namespace trifold::gpu

namespace trifold {

std::unique_ptr<GridEngine> make_grid_gpu_engine(std::shared_ptr<const GridPlan::State> plan) {
    return std::make_unique<gpu::GridGpuEngine>(std::move(plan));
}

}  // namespace trifold
