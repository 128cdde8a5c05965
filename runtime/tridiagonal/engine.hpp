#pragma once
#include <cstdint>
#include <memory>
#include <trifold/solver.hpp>

#include "generator/tridiagonal/operands.hpp"
#include "runtime/device/operand.hpp"
#include "runtime/device/stream_timer.hpp"
#include "runtime/tridiagonal/call.hpp"
#include "runtime/tridiagonal/plan_state.hpp"

namespace trifold {

/// What the kernels of one call get.
struct CallOperands {
    CallOperands(const Plan::State& plan, const trifold_args& caller);
    CallOperands(const CallOperands&) = delete;
    CallOperands& operator=(const CallOperands&) = delete;
    std::array<trifold_args, 3> args;
    std::array<Operand, 3> list;
};

/// What a Solver needs of a backend: workspace, launches and copies on one device.
class Engine {
  public:
    virtual ~Engine() = default;
    void* workspace() const { return workspace_; }
    /// Goes on in another workspace of the same Plan, as work on the stream leaves it. Its own work in flight keeps the one it began with.
    virtual void adopt(void* workspace, Stream stream) = 0;
    /// Enqueues what a workspace needs before its first launch; `whole`: also that members which are never factored solve to NaN.
    virtual void clear(bool whole, Stream stream) = 0;
    /// Whether the stream is recording a graph of the caller's.
    virtual bool captures(Stream stream) const = 0;
    /// Enqueues a copy from the workspace to memory of the device.
    virtual void copy(void* to, std::int64_t offset, std::int64_t bytes, Stream stream) = 0;
    /// Enqueues a copy of a whole workspace, in memory of the device, into this one.
    virtual void copy_from(const void* workspace, Stream stream) = 0;
    /// Enqueues every launch of the operation; `args` is complete and checked. Returns whether the stream is recording a graph of the
    /// caller's; where it is not, the timer (or null) is started before the launches and stopped behind them.
    virtual bool run(Operation operation, const trifold_args& args, Stream stream, StreamTimer* timer) = 0;
    /// One that fits the work of run(). It must not outlive the Plan.
    virtual std::unique_ptr<StreamTimer> make_timer() const = 0;
    /// Waits for the last call.
    virtual void synchronize() = 0;
    /// Copies from the workspace, after the last call.
    virtual void read(void* host, std::int64_t offset, std::int64_t bytes) = 0;
    virtual void set_executor(Executor executor) = 0;

    /// The stream that the copies of a host call and its launches share.
    virtual Stream host_stream() const = 0;
    /// Where a device sees `host`: itself on the CPU, else memory kept for this array (grown where needed).
    virtual void* device_array(Array array, const void* host, std::int64_t bytes) = 0;
    virtual void upload(void* device, const void* host, std::int64_t bytes) = 0;
    virtual void download(void* host, const void* device, std::int64_t bytes) = 0;

  protected:
    void* workspace_ = nullptr;
};

/// What a workspace holds that an engine is given: nothing yet, then never-factored members are NaN from the start; or what another engine
/// of the Plan left there, which stays.
enum class Holds { nothing, factor };
/// `workspace` may be null: the engine allocates its own.
std::unique_ptr<Engine> make_cpu_engine(std::shared_ptr<const Plan::State> plan, void* workspace, Holds holds);
/// Throws DeviceError also in a build without the device's backend.
std::unique_ptr<Engine> make_gpu_engine(std::shared_ptr<const Plan::State> plan, void* workspace, Holds holds);

}  // namespace trifold
