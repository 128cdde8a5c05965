#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <trifold/error.hpp>

#include "runtime/base/switches.hpp"
#include "runtime/device/host_graph.hpp"
#include "runtime/solve/engine.hpp"

namespace trifold {
namespace {

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
    CpuEngine(std::shared_ptr<const Plan::State> plan, void* workspace, Holds holds) : plan_(std::move(plan)) {
        const auto& program = plan_->program;
        if (workspace == nullptr) own_ = allocate(program.workspace_bytes);
        workspace_ = workspace == nullptr ? own_.get() : workspace;
        if (holds == Holds::nothing) clear(true, {});
        graph_.emplace(program, plan_->loaded.functions, scratch(),
                       program.workers > 1 ? spin_of(plan_->choice.tuning) : std::chrono::microseconds(0));
        for (const auto operation : plan_->choice.spec.operations)
            operations_[operation] = &graph_->operation(std::string(to_string(operation)));
    }

    void adopt(void* workspace, Stream) override {
        workspace_ = workspace;
        graph_->set_scratch(scratch());
    }
    void clear(bool whole, Stream) override {
        const auto& program = plan_->program;
        auto* bytes = static_cast<char*>(workspace_);
        if (whole) std::memset(bytes, 0xff, static_cast<std::size_t>(program.workspace_bytes));
        for (const auto& buffer : program.buffers) {
            if (buffer.zeroed) std::memset(bytes + buffer.offset, 0, static_cast<std::size_t>(buffer.bytes));
            std::memcpy(bytes + buffer.offset, buffer.contents.data(), buffer.contents.size());
        }
    }
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
    /// Of the workers, at the workspace's end.
    char* scratch() const {
        const auto& program = plan_->program;
        return static_cast<char*>(workspace_) + program.workspace_bytes - program.workers * program.scratch_bytes;
    }

    std::shared_ptr<const Plan::State> plan_;
    std::unique_ptr<void, Free> own_;
    std::map<Operation, const HostGraph::Steps*> operations_;
    std::optional<HostGraph> graph_;  // last, so that its threads end first
};

}  // namespace

std::unique_ptr<Engine> make_cpu_engine(std::shared_ptr<const Plan::State> plan, void* workspace, Holds holds) {
    return std::make_unique<CpuEngine>(std::move(plan), workspace, holds);
}

}  // namespace trifold
