#include <fmt/format.h>

#include <array>
#include <map>
#include <optional>
#include <trifold/error.hpp>

#include "runtime/base/switches.hpp"
#include "runtime/device/gpu_graph.hpp"
#include "runtime/device/gpu_memory.hpp"
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
        args.members = plan.spec.batch;
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
    std::array<std::optional<Memory>, grid_roles> staging;
};

class GridGpuEngine final : public GridEngine {
  public:
    explicit GridGpuEngine(std::shared_ptr<const GridPlan::State> plan)
        : plan_(std::move(plan)),
          context_(static_cast<const Module*>(plan_->loaded.module.get())->context()),
          driver_(context_.driver()),
          sees_host_memory_(driver_.reads_host_memory(context_.ordinal())),
          as_graph_(!disabled("graph")) {
        const Current current(context_);
        resources_.emplace(context_, *plan_);
        workspace_ = resources_->workspace.get();
        last_ = known_ = resources_->stream.get();
    }
    ~GridGpuEngine() override {
        try {
            const Current current(context_);
            try {
                driver_.synchronize_device();  // work in flight uses the workspace and the plan's code
            } catch (const Error&) {
                // A kernel has failed; what it used can be freed all the same.
            }
            resources_.reset();
        } catch (const Error&) {
            // The driver has shut down and freed everything.
        }
    }

    void run(const std::string& operation, const trifold_grid_args& args, Stream stream) override {
        const Current current(context_);
        auto* handle = stream.handle;
        check_stream(handle);
        const std::array operands{Operand{&args, sizeof args, args.members}};
        auto& graph = resources_->graphs.at(operation);
        const bool capturing = driver_.is_capturing(handle);
        captured_ = captured_ || capturing;
        if (!capturing && as_graph_)
            graph.launch(operands, handle);
        else
            graph.enqueue(operands, handle);
        last_ = handle;
    }
    void check_pointer(const void* pointer, const std::string& what) override {
        if (pointer == nullptr || sees_host_memory_) return;
        const Current current(context_);
        if (!driver_.is_device_memory(pointer))
            throw SpecError(fmt::format("{} is not memory that {} can read; give device memory, or use the span overloads", what,
                                        plan_->device.name()));
    }
    void read(void* host, std::int64_t offset, std::int64_t bytes) override {
        const Current current(context_);
        // What was captured is replayed by the caller, on streams this does not know.
        if (captured_)
            driver_.synchronize_device();
        else
            driver_.synchronize_stream(last_);
        auto* stream = resources_->stream.get();
        driver_.copy_to_host(host, static_cast<const char*>(workspace_) + offset, static_cast<std::size_t>(bytes), stream);
        driver_.synchronize_stream(stream);
    }
    void set_executor(Executor) override {
        throw SpecError("an executor replaces the threads of a CPU; this GridPlan runs on " + plan_->device.name());
    }
    Stream host_stream() const override { return {resources_->stream.get()}; }
    void* device_array(GridRole role, void*, std::int64_t bytes) override {
        const Current current(context_);
        auto& memory = resources_->staging.at(static_cast<std::size_t>(role));
        if (!memory || memory->bytes() < bytes) {
            memory.reset();
            memory.emplace(context_, bytes, "the device's copy of an array", smaller_image);
        }
        return memory->get();
    }
    void upload(void* device, const void* host, std::int64_t bytes) override {
        const Current current(context_);
        driver_.copy_to_device(device, host, static_cast<std::size_t>(bytes), resources_->stream.get());
    }
    void download(void* host, const void* device, std::int64_t bytes) override {
        const Current current(context_);
        driver_.copy_to_host(host, device, static_cast<std::size_t>(bytes), resources_->stream.get());
    }
    void wait_for_host() override {
        const Current current(context_);
        driver_.synchronize_stream(resources_->stream.get());
    }

  private:
    /// A stream seen for the first time must be one of this device.
    void check_stream(void* stream) {
        if (stream == known_) return;
        const auto ordinal = driver_.device_of(stream);
        if (ordinal != context_.ordinal())
            throw SpecError(fmt::format("the stream belongs to {}, and the GridPlan was made for {} ({}:{})", driver_.device_name(ordinal),
                                        plan_->device.name(), to_string(driver_.backend()), context_.ordinal()));
        known_ = stream;
    }

    std::shared_ptr<const GridPlan::State> plan_;
    const Context& context_;
    const Driver& driver_;
    bool sees_host_memory_, as_graph_;
    bool captured_ = false;  // a call was recorded into a graph of the caller's
    void* last_ = nullptr;   // of the last call
    void* known_ = nullptr;  // the last stream found to be of this device
    std::optional<GridResources> resources_;
};

}  // namespace
}  // namespace trifold::gpu

namespace trifold {

std::unique_ptr<GridEngine> make_grid_gpu_engine(std::shared_ptr<const GridPlan::State> plan) {
    return std::make_unique<gpu::GridGpuEngine>(std::move(plan));
}

}  // namespace trifold
