#pragma once
#include <cstdint>
#include <memory>
#include <trifold/solver.hpp>

#include "generator/tridiagonal/operands.hpp"
#include "runtime/device/operand.hpp"
#include "runtime/solve/call.hpp"
#include "runtime/solve/plan_state.hpp"

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
    /// Enqueues every launch of the operation; `args` is complete and checked.
    virtual void run(Operation operation, const trifold_args& args, Stream stream) = 0;
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

/// `workspace` may be null: the engine allocates its own. Never-factored members are NaN from the start.
std::unique_ptr<Engine> make_cpu_engine(std::shared_ptr<const Plan::State> plan, void* workspace);
/// Throws DeviceError also in a build without the device's backend.
std::unique_ptr<Engine> make_gpu_engine(std::shared_ptr<const Plan::State> plan, void* workspace);

}  // namespace trifold
