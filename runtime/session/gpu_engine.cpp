#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <trifold/error.hpp>
#include <vector>

#include "runtime/base/switches.hpp"
#include "runtime/device/gpu_graph.hpp"
#include "runtime/device/gpu_memory.hpp"
#include "runtime/device/turns.hpp"
#include "runtime/session/engine.hpp"

namespace trifold::gpu {
namespace {

/// Checks and records of a session's calls on one device. The context must be current in every call.
class Calls {
  public:
    /// `plan` and `device`: what the solver was made for, in messages.
    Calls(const Context& context, std::string_view plan, std::string device)
        : context_(context),
          driver_(context.driver()),
          plan_(plan),
          device_(std::move(device)),
          sees_host_memory_(driver_.reads_host_memory(context.ordinal())) {}

    /// The solver's own stream, which is one of this device.
    void begin_on(void* stream) { last_ = known_ = stream; }

    /// A stream seen for the first time must be one of this device.
    void check_stream(void* stream) {
        if (stream == known_) return;
        const auto ordinal = driver_.device_of(stream);
        if (ordinal != context_.ordinal())
            throw SpecError(fmt::format("the stream belongs to {}, and the {} was made for {} ({}:{})", driver_.device_name(ordinal), plan_,
                                        device_, to_string(driver_.backend()), context_.ordinal()));
        known_ = stream;
    }
    /// Host memory that the device cannot read would end the context with an illegal address.
    void check_pointer(const void* pointer, std::string_view what) const {
        if (pointer == nullptr || sees_host_memory_) return;
        if (!driver_.is_device_memory(pointer))
            throw SpecError(fmt::format("{} is not memory that {} can read; give device memory, or use the span overloads", what, device_));
    }
    /// Whether the stream records a graph of the caller's, which synchronize() then knows.
    bool captures(void* stream) {
        const bool capturing = driver_.is_capturing(stream);
        captured_ = captured_ || capturing;
        return capturing;
    }
    void note(void* stream) { last_ = stream; }
    void* last() const { return last_; }

    /// Waits for the last call. What was captured is replayed by the caller, on streams this does not know.
    void synchronize() const {
        if (captured_)
            driver_.synchronize_device();
        else
            driver_.synchronize_stream(last_);
    }
    /// Waits for everything, so that it can be freed.
    void wait_for_all() const noexcept try { driver_.synchronize_device(); } catch (const Error&) {
        // A kernel has failed; what it used can be freed all the same.
    }

  private:
    const Context& context_;
    const Driver& driver_;
    std::string_view plan_;
    std::string device_;
    bool sees_host_memory_;
    bool captured_ = false;  // a call was recorded into a graph of the caller's
    void* last_ = nullptr;   // stream of the last call
    void* known_ = nullptr;  // the last stream found to be of this device
};

/// Enqueues what a workspace needs before its first launch; `whole`: all of it is NaN at first.
void clear_workspace(const Driver& driver, const Program& program, void* memory, bool whole, void* stream) {
    if (whole) driver.fill(memory, 0xff, static_cast<std::size_t>(program.workspace_bytes), stream);
    auto* bytes = static_cast<char*>(memory);
    std::int64_t first = 0, end = 0;  // neighbours that are zeroed in one go
    const auto zero = [&] {
        if (end > first) driver.fill(bytes + first, 0, static_cast<std::size_t>(end - first), stream);
    };
    for (const auto& buffer : program.buffers) {
        if (!buffer.contents.empty()) driver.copy_to_device(bytes + buffer.offset, buffer.contents.data(), buffer.contents.size(), stream);
        if (!buffer.zeroed || buffer.bytes == 0) continue;
        if (round_up(end, workspace_alignment) != buffer.offset) {
            zero();
            first = buffer.offset;
        }
        end = buffer.offset + buffer.bytes;
    }
    zero();
}

/// A copy of operands.
struct StandIn {
    explicit StandIn(std::span<const Operand> operands) {
        for (const auto& operand : operands) bytes.emplace_back(static_cast<const char*>(operand.bytes), operand.size);
        for (std::size_t k = 0; k < operands.size(); ++k) list.push_back({bytes[k].data(), bytes[k].size(), operands[k].members});
    }
    std::vector<std::string> bytes;
    std::vector<Operand> list;
};

/// Everything that must be freed with the context current.
struct Resources {
    Resources(const Context& context, const Prepared& prepared, std::span<const Operand> operands, void* given, Holds holds)
        : driver(context.driver()), stand_in(operands), stream(driver), graphs(prepared.program.operations.size()) {
        const auto& program = prepared.program;
        if (given == nullptr) own.emplace(context, program.workspace_bytes, "the workspace", prepared.words.less_memory);
        workspace = given == nullptr ? own->get() : given;
        if (holds == Holds::nothing) clear_workspace(driver, program, workspace, true, stream.get());
        for (std::size_t k = 0; k < graphs.size(); ++k)
            if (prepared.is_there(k)) make_graph(prepared, k).build(stand_in.list, workspace, stream.get());
        driver.synchronize_stream(stream.get());
    }
    /// The graph of an operation, which may not be built yet. Waits for its code.
    Graph& make_graph(const Prepared& prepared, std::size_t operation) {
        auto& graph = graphs[operation];
        if (graph == nullptr)
            graph =
                std::make_unique<Graph>(driver, prepared.program, prepared.units, prepared.operation(operation), prepared.transport.get());
        return *graph;
    }
    void prepare(const Prepared& prepared) {
        for (std::size_t k = 0; k < graphs.size(); ++k)
            if (auto& graph = make_graph(prepared, k); !graph.is_built()) graph.build(stand_in.list, workspace, stream.get());
        driver.synchronize_stream(stream.get());
    }
    const Driver& driver;
    StandIn stand_in;  // in graphs, until a launch brings its own operands
    OwnStream stream;
    std::optional<Memory> own;
    void* workspace;
    std::vector<std::unique_ptr<Graph>> graphs;  // null where code was not there yet
    std::map<std::string_view, std::optional<Memory>> copies;
};

class GpuEngine final : public Engine {
  public:
    GpuEngine(std::shared_ptr<const Prepared> prepared, std::span<const Operand> stand_in, void* workspace, Holds holds)
        : prepared_(std::move(prepared)),
          context_(*prepared_->context),
          driver_(context_.driver()),
          as_graph_(!disabled("graph")),
          calls_(context_, prepared_->words.plan, prepared_->device.name()),
          gauged_(gauges.solvers, workspace == nullptr ? prepared_->program.workspace_bytes : 0) {
        const Current current(context_);
        if (workspace != nullptr) calls_.check_pointer(workspace, "the workspace");
        resources_.emplace(context_, *prepared_, stand_in, workspace, holds);
        calls_.begin_on(resources_->stream.get());
        workspace_ = resources_->workspace;
    }
    ~GpuEngine() override {
        try {
            const Current current(context_);
            calls_.wait_for_all();  // work in flight uses the workspace and the plan's code
            resources_.reset();
        } catch (const Error&) {
            // The driver has shut down and freed everything.
        }
    }

    void prepare() override {
        const Current current(context_);
        resources_->prepare(*prepared_);
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
        clear_workspace(driver_, prepared_->program, workspace_, whole, stream.handle);
        calls_.note(stream.handle);
    }
    bool captures(Stream stream) const override {
        const Current current(context_);
        return driver_.is_capturing(stream.handle);
    }
    void check(std::span<const CallArray> arrays) override {
        // Loops bring the same arrays again and again, or all but one of them.
        if (std::equal(arrays.begin(), arrays.end(), checked_.begin(), [](const auto& array, auto known) { return array.data == known; }))
            return;
        const Current current(context_);
        for (std::size_t k = 0; k < arrays.size(); ++k) {
            if (arrays[k].data == checked_[k]) continue;
            calls_.check_pointer(arrays[k].data, arrays[k].name);
            checked_[k] = arrays[k].data;
        }
    }
    bool run(std::size_t operation, std::span<const Operand> operands, Stream stream, StreamTimer* timer) override {
        const Current current(context_);
        auto* handle = stream.handle;
        auto& graph = resources_->make_graph(*prepared_, operation);
        calls_.check_stream(handle);
        const bool capturing = calls_.captures(handle);
        if (capturing) timer = nullptr;
        if (timer != nullptr) timer->start(handle);
        if (!capturing && as_graph_ && between_turns == nullptr && graph.can_launch())
            graph.launch(operands, workspace_, handle);
        else
            graph.enqueue(operands, workspace_, handle, capturing, as_graph_);
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
        if (prepared_->transport != nullptr) prepared_->transport->wait({calls_.last()});
        calls_.synchronize();
    }
    void set_executor(Executor) override {
        throw SpecError(
            fmt::format("an executor replaces the threads of a CPU; this {} runs on {}", prepared_->words.plan, prepared_->device.name()));
    }

    void copy(void* to, std::int64_t offset, std::int64_t bytes, Stream stream) override {
        const Current current(context_);
        driver_.copy(to, static_cast<const char*>(workspace_) + offset, static_cast<std::size_t>(bytes), stream.handle);
        calls_.note(stream.handle);
    }
    void copy_from(const void* workspace, Stream stream) override {
        const Current current(context_);
        calls_.check_stream(stream.handle);
        driver_.copy(workspace_, workspace, static_cast<std::size_t>(prepared_->program.workspace_bytes), stream.handle);
        calls_.note(stream.handle);
    }
    void read(void* host, std::int64_t offset, std::int64_t bytes) override {
        synchronize();
        download(host, static_cast<const char*>(workspace_) + offset, bytes);
        const Current current(context_);
        driver_.synchronize_stream(resources_->stream.get());
    }
    void write(std::int64_t offset, const void* host, std::int64_t bytes) override {
        synchronize();
        upload(static_cast<char*>(workspace_) + offset, host, bytes);
        const Current current(context_);
        driver_.synchronize_stream(resources_->stream.get());
    }

    Stream host_stream() const override { return {resources_->stream.get()}; }
    void* device_array(std::string_view name, const void*, std::int64_t bytes) override {
        const Current current(context_);
        auto& memory = resources_->copies[name];
        if (!memory || memory->bytes() < bytes) {
            memory.reset();
            memory.emplace(context_, bytes, fmt::format("the device's copy of {}", name), prepared_->words.less_memory);
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
    void finish_copies() override {
        const Current current(context_);
        driver_.synchronize_stream(resources_->stream.get());
    }

  private:
    std::shared_ptr<const Prepared> prepared_;
    const Context& context_;
    const Driver& driver_;
    bool as_graph_;
    Calls calls_;
    std::array<const void*, max_arrays> checked_{};  // the last arrays that were found to be readable, by their places in a call
    std::optional<Resources> resources_;
    Gauged gauged_;
};

}  // namespace
}  // namespace trifold::gpu

namespace trifold {

std::unique_ptr<Engine> make_gpu_engine(std::shared_ptr<const Prepared> prepared, std::span<const Operand> stand_in, void* workspace,
                                        Holds holds) {
    return std::make_unique<gpu::GpuEngine>(std::move(prepared), stand_in, workspace, holds);
}

}  // namespace trifold
