#include <fmt/format.h>

#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <trifold/error.hpp>

#include "runtime/base/switches.hpp"
#include "runtime/device/gpu.hpp"
#include "runtime/device/gpu_graph.hpp"
#include "runtime/device/gpu_memory.hpp"
#include "runtime/device/gpu_module.hpp"
#include "runtime/device/gpu_timer.hpp"
#include "runtime/solve/engine.hpp"

namespace trifold::gpu {
namespace {

/// Everything that must be freed with the context current.
struct Resources {
    Resources(const Context& context, const Plan::State& plan, void* workspace, Holds holds);
    OwnStream stream;
    std::optional<Memory> workspace;
    std::map<Operation, Graph> graphs;
    std::array<std::optional<Memory>, array_count> staging;
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
          sees_host_memory_(driver_.reads_host_memory(context_.ordinal())),
          as_graph_(!disabled("graph")) {
        const Current current(context_);
        if (workspace != nullptr) check_pointer(workspace, "the workspace");
        resources_.emplace(context_, *plan_, workspace, holds);
        workspace_ = workspace == nullptr ? resources_->workspace->get() : workspace;
        last_ = known_ = resources_->stream.get();
    }

    ~GpuEngine() override {
        try {
            const Current current(context_);
            wait_for_all();  // work in flight uses the workspace and the Plan's code
            resources_.reset();
        } catch (const Error&) {
            // The driver has shut down and freed everything.
        }
    }

    void adopt(void* workspace, Stream stream) override {
        last_ = stream.handle;
        if (workspace == workspace_) return;
        const Current current(context_);
        check_pointer(workspace, "the workspace");
        workspace_ = workspace;
    }
    void clear(bool whole, Stream stream) override {
        const Current current(context_);
        check_stream(stream.handle);
        clear_workspace(driver_, plan_->program, workspace_, whole, stream.handle);
        last_ = stream.handle;
    }
    bool captures(Stream stream) const override {
        const Current current(context_);
        return driver_.is_capturing(stream.handle);
    }
    void copy(void* to, std::int64_t offset, std::int64_t bytes, Stream stream) override {
        const Current current(context_);
        driver_.copy(to, static_cast<const char*>(workspace_) + offset, static_cast<std::size_t>(bytes), stream.handle);
        last_ = stream.handle;
    }
    void copy_from(const void* workspace, Stream stream) override {
        const Current current(context_);
        check_stream(stream.handle);
        driver_.copy(workspace_, workspace, static_cast<std::size_t>(plan_->program.workspace_bytes), stream.handle);
        last_ = stream.handle;
    }

    bool run(Operation operation, const trifold_args& args, Stream stream, StreamTimer* timer) override {
        const Current current(context_);
        auto* handle = stream.handle;
        auto& graph = resources_->graphs.at(operation);
        check_stream(handle);
        check_pointers(args);
        const CallOperands operands(*plan_, args);
        const bool capturing = driver_.is_capturing(handle);
        captured_ = captured_ || capturing;
        if (capturing) timer = nullptr;
        if (timer != nullptr) timer->start(handle);
        if (!capturing && as_graph_)
            graph.launch(operands.list, handle);
        else
            graph.enqueue(operands.list, handle);
        if (timer != nullptr) timer->stop(handle);
        last_ = handle;
        return capturing;
    }
    std::unique_ptr<StreamTimer> make_timer() const override {
        const Current current(context_);
        return std::make_unique<EventTimer>(context_);
    }

    void synchronize() override {
        const Current current(context_);
        // What was captured is replayed by the caller, on streams this does not know.
        if (captured_)
            driver_.synchronize_device();
        else
            driver_.synchronize_stream(last_);
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
        auto& memory = resources_->staging[static_cast<std::size_t>(array)];
        if (!memory || memory->bytes() < bytes) {
            memory.reset();
            memory.emplace(context_, bytes, fmt::format("the device's copy of {}", trifold::to_string(array)), smaller_problem);
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

  private:
    void wait_for_all() noexcept try { driver_.synchronize_device(); } catch (const Error&) {
        // A kernel has failed; what it used can be freed all the same.
    }

    /// A stream seen for the first time must be one of this device.
    void check_stream(void* stream) {
        if (stream == known_) return;
        const auto ordinal = driver_.device_of(stream);
        if (ordinal != context_.ordinal())
            throw SpecError(fmt::format("the stream belongs to {}, and the Plan was made for {} ({}:{})", driver_.device_name(ordinal),
                                        plan_->device.name(), to_string(driver_.backend()), context_.ordinal()));
        known_ = stream;
    }

    /// Host memory that the device cannot read would end the context with an illegal address.
    void check_pointer(const void* pointer, std::string_view what) const {
        if (pointer == nullptr || sees_host_memory_) return;
        if (!driver_.is_device_memory(pointer))
            throw SpecError(fmt::format("{} is not memory that {} can read; give device memory, or use the span overloads", what,
                                        plan_->device.name()));
    }

    void check_pointers(const trifold_args& args) {
        if (std::memcmp(&args, &checked_, sizeof args) == 0) return;
        check_pointer(args.d, "D");
        check_pointer(args.e, "E");
        check_pointer(args.b, "B");
        check_pointer(args.x, "X");
        check_pointer(args.diagonal, "the added diagonal");
        check_pointer(args.shift, "shift");
        check_pointer(args.active, "active");
        check_pointer(args.inverse_diagonal, "the inverse's diagonal");
        check_pointer(args.inverse_coupling, "the inverse's coupling");
        checked_ = args;
    }

    std::shared_ptr<const Plan::State> plan_;
    const Context& context_;
    const Driver& driver_;
    bool sees_host_memory_, as_graph_;
    bool captured_ = false;   // a call was recorded into a graph of the caller's
    void* last_ = nullptr;    // of the last call
    void* known_ = nullptr;   // the last stream found to be of this device
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
