#pragma once
#include <memory>
#include <span>
#include <string>
#include <trifold/device.hpp>

#include "runtime/device/stream_timer.hpp"
#include "runtime/device/units.hpp"
#include "runtime/session/array.hpp"
#include "runtime/session/prepared.hpp"

namespace trifold {

/// The services of a backend for a Session: workspace, launches and copies on one device. Operations are numbered in the order of
/// Program::operations.
class Engine {
  public:
    virtual ~Engine() = default;
    /// Waits until every operation can run. Else its first run() waits.
    virtual void prepare() = 0;
    void* workspace() const { return workspace_; }
    /// Goes on in another workspace of the same Program, as work on the stream leaves it. Its own work in flight keeps the one it began
    /// with.
    virtual void adopt(void* workspace, Stream stream) = 0;
    /// Enqueues what a workspace needs before its first launch; `whole`: also that all of it is NaN.
    virtual void clear(bool whole, Stream stream) = 0;
    /// Whether the stream is recording a graph of the caller's.
    virtual bool captures(Stream stream) const = 0;
    /// Throws SpecError where the device cannot read an array.
    virtual void check(std::span<const CallArray> arrays) = 0;
    /// Enqueues every launch of the operation. Returns whether the stream is recording a graph of the caller's; where it is not, the timer
    /// (or null) is started before the launches and stopped behind them.
    virtual bool run(std::size_t operation, std::span<const Operand> operands, Stream stream, StreamTimer* timer) = 0;
    /// One that fits the work of run(). It must not outlive what was prepared.
    virtual std::unique_ptr<StreamTimer> make_timer() const = 0;
    /// Waits for the last call, whatever stream it was put into.
    virtual void synchronize() = 0;
    virtual void set_executor(Executor executor) = 0;

    /// Enqueues a copy from the workspace to memory of the device.
    virtual void copy(void* to, std::int64_t offset, std::int64_t bytes, Stream stream) = 0;
    /// Enqueues a copy of a whole workspace, in memory of the device, into this one.
    virtual void copy_from(const void* workspace, Stream stream) = 0;
    /// Copy between the workspace and the host's memory after the last call, and have ended when they return.
    virtual void read(void* host, std::int64_t offset, std::int64_t bytes) = 0;
    virtual void write(std::int64_t offset, const void* host, std::int64_t bytes) = 0;

    /// The stream that the copies of a host call and its launches share.
    virtual Stream host_stream() const = 0;
    /// Address of a host's array as the device sees it: itself on the CPU, else memory kept for arrays of this name, grown where needed.
    virtual void* device_array(std::string_view name, const void* host, std::int64_t bytes) = 0;
    virtual void upload(void* device, const void* host, std::int64_t bytes) = 0;
    virtual void download(void* host, const void* device, std::int64_t bytes) = 0;
    /// Waits for these copies, where they are enqueued.
    virtual void finish_copies() {}

  protected:
    void* workspace_ = nullptr;
};

/// Contents of a workspace that a session is given: nothing yet, then all of it is NaN from the start; or what another session of the plan
/// left there, which stays.
enum class Holds { nothing, results };

/// `workspace` may be null: the engine allocates its own. `stand_in` is of the kind that calls bring, and is never launched.
std::unique_ptr<Engine> make_cpu_engine(std::shared_ptr<const Prepared> prepared, void* workspace, Holds holds);
/// Throws DeviceError also in a build without the device's backend.
std::unique_ptr<Engine> make_gpu_engine(std::shared_ptr<const Prepared> prepared, std::span<const Operand> stand_in, void* workspace,
                                        Holds holds);

}  // namespace trifold
