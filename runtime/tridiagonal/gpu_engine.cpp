#include <fmt/format.h>

#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <trifold/error.hpp>

#include "runtime/base/switches.hpp"
#include "runtime/device/gpu.hpp"
#include "runtime/device/gpu_calls.hpp"
#include "runtime/device/gpu_graph.hpp"
#include "runtime/device/gpu_module.hpp"
#include "runtime/device/gpu_timer.hpp"
#include "runtime/tridiagonal/engine.hpp"

namespace trifold::gpu {
namespace {

/// Everything that must be freed with the context current.
struct Resources {
    Resources(const Context& context, const Plan::State& plan, void* workspace, Holds holds);
    OwnStream stream;
    std::optional<Memory> workspace;
    std::map<Operation, Graph> graphs;
    Staging<array_count> staging;
};

constexpr std::string_view smaller_problem = "give a smaller horizon or batch";

trifold_args first_args(const Spec& spec, void* workspace) {
    Call call{Operation::factor};
    resolve(spec, call);
    return panel_args(spec, call, 0, spec.rhs, workspace);
}

Resources::Resources(const Context& context, const Plan::State& plan, void* given, Holds holds) : stream(context.driver()) {
    const auto& driver = context.driver();
    const auto& program = plan.program;
    if (given == nullptr) workspace.emplace(context, program.workspace_bytes, "the workspace", smaller_problem);
    void* memory = given == nullptr ? workspace->get() : given;
    if (holds == Holds::nothing) clear_workspace(driver, program, memory, true, stream.get());
    const CallOperands operands(plan, first_args(plan.choice.spec, memory));
    for (const auto operation : plan.choice.spec.operations) {
        const auto name = std::string(to_string(operation));
        const auto& [_, graph] = *graphs.try_emplace(operation, driver, program, plan.loaded, name, operands.list).first;
        graph.upload(stream.get());
    }
    driver.synchronize_stream(stream.get());
}

class GpuEngine final : public Engine {
  public:
    GpuEngine(std::shared_ptr<const Plan::State> plan, void* workspace, Holds holds)
        : plan_(std::move(plan)),
          context_(static_cast<const Module*>(plan_->loaded.module.get())->context()),
          driver_(context_.driver()),
          as_graph_(!disabled("graph")),
          calls_(context_, "Plan", plan_->device.name()) {
        const Current current(context_);
        if (workspace != nullptr) calls_.check_pointer(workspace, "the workspace");
        resources_.emplace(context_, *plan_, workspace, holds);
        calls_.begin_on(resources_->stream.get());
        workspace_ = workspace == nullptr ? resources_->workspace->get() : workspace;
    }

    ~GpuEngine() override {
        try {
            const Current current(context_);
            calls_.wait_for_all();  // work in flight uses the workspace and the Plan's code
            resources_.reset();
        } catch (const Error&) {
            // The driver has shut down and freed everything.
        }
    }

    void adopt(void* workspace, Stream stream) override {
        calls_.note(stream.handle);
        if (workspace == workspace_) return;
        const Current current(context_);
        calls_.check_pointer(workspace, "the workspace");
        workspace_ = workspace;
    }
    void clear(bool whole, Stream stream) override {
        const Current current(context_);
        calls_.check_stream(stream.handle);
        clear_workspace(driver_, plan_->program, workspace_, whole, stream.handle);
        calls_.note(stream.handle);
    }
    bool captures(Stream stream) const override {
        const Current current(context_);
        return driver_.is_capturing(stream.handle);
    }
    void copy(void* to, std::int64_t offset, std::int64_t bytes, Stream stream) override {
        const Current current(context_);
        driver_.copy(to, static_cast<const char*>(workspace_) + offset, static_cast<std::size_t>(bytes), stream.handle);
        calls_.note(stream.handle);
    }
    void copy_from(const void* workspace, Stream stream) override {
        const Current current(context_);
        calls_.check_stream(stream.handle);
        driver_.copy(workspace_, workspace, static_cast<std::size_t>(plan_->program.workspace_bytes), stream.handle);
        calls_.note(stream.handle);
    }

    bool run(Operation operation, const trifold_args& args, Stream stream, StreamTimer* timer) override {
        const Current current(context_);
        auto* handle = stream.handle;
        auto& graph = resources_->graphs.at(operation);
        calls_.check_stream(handle);
        check_pointers(args);
        const CallOperands operands(*plan_, args);
        const bool capturing = calls_.captures(handle);
        if (capturing) timer = nullptr;
        if (timer != nullptr) timer->start(handle);
        if (!capturing && as_graph_)
            graph.launch(operands.list, handle);
        else
            graph.enqueue(operands.list, handle);
        if (timer != nullptr) timer->stop(handle);
        calls_.note(handle);
        return capturing;
    }
    std::unique_ptr<StreamTimer> make_timer() const override {
        const Current current(context_);
        return std::make_unique<EventTimer>(context_);
    }

    void synchronize() override {
        const Current current(context_);
        calls_.synchronize();
    }

    void read(void* host, std::int64_t offset, std::int64_t bytes) override {
        download(host, static_cast<const char*>(workspace_) + offset, bytes);
        const Current current(context_);
        driver_.synchronize_stream(resources_->stream.get());
    }

    void set_executor(Executor) override {
        throw SpecError("an executor replaces the threads of a CPU Plan; this one runs on " + plan_->device.name());
    }
    Stream host_stream() const override { return {resources_->stream.get()}; }

    void* device_array(Array array, const void*, std::int64_t bytes) override {
        const Current current(context_);
        return resources_->staging.of(context_, static_cast<std::size_t>(array), bytes,
                                      fmt::format("the device's copy of {}", trifold::to_string(array)), smaller_problem);
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
    void check_pointers(const trifold_args& args) {
        if (std::memcmp(&args, &checked_, sizeof args) == 0) return;
        calls_.check_pointer(args.d, "D");
        calls_.check_pointer(args.e, "E");
        calls_.check_pointer(args.b, "B");
        calls_.check_pointer(args.x, "X");
        calls_.check_pointer(args.diagonal, "the added diagonal");
        calls_.check_pointer(args.shift, "shift");
        calls_.check_pointer(args.active, "active");
        calls_.check_pointer(args.inverse_diagonal, "the inverse's diagonal");
        calls_.check_pointer(args.inverse_coupling, "the inverse's coupling");
        checked_ = args;
    }

    std::shared_ptr<const Plan::State> plan_;
    const Context& context_;
    const Driver& driver_;
    bool as_graph_;
    Calls calls_;
    trifold_args checked_{};  // pointers found to be readable
    std::optional<Resources> resources_;
};

}  // namespace
}  // namespace trifold::gpu

namespace trifold {

std::unique_ptr<Engine> make_gpu_engine(std::shared_ptr<const Plan::State> plan, void* workspace, Holds holds) {
    return std::make_unique<gpu::GpuEngine>(std::move(plan), workspace, holds);
}

}  // namespace trifold
