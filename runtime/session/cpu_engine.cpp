#include <cstring>
#include <optional>
#include <vector>

#include "runtime/device/host_graph.hpp"
#include "runtime/device/host_memory.hpp"
#include "runtime/session/engine.hpp"

namespace trifold {
namespace {

class CpuEngine final : public Engine {
  public:
    CpuEngine(std::shared_ptr<const Prepared> prepared, void* workspace, Holds holds)
        : prepared_(std::move(prepared)),
          own_(workspace == nullptr ? allocate_on_host(prepared_->program.workspace_bytes, prepared_->words.less_memory) : nullptr),
          operations_(prepared_->program.operations.size()),
          graph_(prepared_->program, workspace == nullptr ? own_.get() : workspace,
                 prepared_->program.workers > 1 ? spin_time(prepared_->spin_microseconds) : std::chrono::microseconds(0),
                 prepared_->transport.get()),
          gauged_(gauges.solvers, workspace == nullptr ? prepared_->program.workspace_bytes : 0) {
        workspace_ = workspace == nullptr ? own_.get() : workspace;
        // Clearing it as a whole also brings its pages, so that the first call need not wait for them.
        if (holds == Holds::nothing) clear(true, {});
        for (std::size_t k = 0; k < operations_.size(); ++k)
            if (prepared_->is_there(k)) prepare(k);
    }
    void prepare() override {
        for (std::size_t k = 0; k < operations_.size(); ++k) prepare(k);
    }

    void adopt(void* workspace, Stream) override {
        workspace_ = workspace;
        graph_.set_workspace(workspace_);
    }
    void clear(bool whole, Stream) override { clear_workspace(prepared_->program, workspace_, whole); }
    bool captures(Stream) const override { return false; }
    void check(std::span<const CallArray>) override {}
    bool run(std::size_t operation, std::span<const Operand> operands, Stream, StreamTimer* timer) override {
        if (!operations_[operation]) prepare(operation);
        if (timer != nullptr) timer->start(nullptr);
        graph_.run(*operations_[operation], operands);
        if (timer != nullptr) timer->stop(nullptr);
        return false;
    }
    std::unique_ptr<StreamTimer> make_timer() const override { return std::make_unique<HostTimer>(); }
    void synchronize() override {}
    void set_executor(Executor executor) override { graph_.set_executor(std::move(executor)); }

    void copy(void* to, std::int64_t offset, std::int64_t bytes, Stream) override { read(to, offset, bytes); }
    void copy_from(const void* workspace, Stream) override {
        std::memcpy(workspace_, workspace, static_cast<std::size_t>(prepared_->program.workspace_bytes));
    }
    void read(void* host, std::int64_t offset, std::int64_t bytes) override {
        std::memcpy(host, static_cast<const char*>(workspace_) + offset, static_cast<std::size_t>(bytes));
    }
    void write(std::int64_t offset, const void* host, std::int64_t bytes) override {
        std::memcpy(static_cast<char*>(workspace_) + offset, host, static_cast<std::size_t>(bytes));
    }
    Stream host_stream() const override { return {}; }
    void* device_array(std::string_view, const void* host, std::int64_t) override { return const_cast<void*>(host); }
    void upload(void*, const void*, std::int64_t) override {}
    void download(void*, const void*, std::int64_t) override {}

  private:
    void prepare(std::size_t operation) {
        if (!operations_[operation])
            operations_[operation] = HostGraph::steps_of(prepared_->program, prepared_->units, prepared_->operation(operation));
    }

    std::shared_ptr<const Prepared> prepared_;
    HostMemory own_;
    std::vector<std::optional<HostGraph::Steps>> operations_;  // nothing where its code was not there yet
    HostGraph graph_;                                          // last of what its threads use, so that they end first
    Gauged gauged_;
};

}  // namespace

std::unique_ptr<Engine> make_cpu_engine(std::shared_ptr<const Prepared> prepared, void* workspace, Holds holds) {
    return std::make_unique<CpuEngine>(std::move(prepared), workspace, holds);
}

}  // namespace trifold
