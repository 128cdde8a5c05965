#pragma once
#include <trifold/grid_args.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <trifold/solver.hpp>

#include "runtime/grid/plan_state.hpp"

namespace trifold {

/// An array of a call that a device may need a copy of.
enum class GridRole { stencil, b, x, by_x, by_b, by_stencil };
inline constexpr std::size_t grid_roles = 6;

/// What a GridSolver needs of a backend: workspace, launches and copies on one device.
class GridEngine {
  public:
    virtual ~GridEngine() = default;
    void* workspace() const { return workspace_; }
    /// Enqueues every launch of the operation; `args` is complete and checked.
    virtual void run(const std::string& operation, const trifold_grid_args& args, Stream stream) = 0;
    /// Throws SpecError where the device cannot read there.
    virtual void check_pointer(const void* pointer, const std::string& what) = 0;
    /// Waits for the last call, whatever stream it was put into.
    virtual void synchronize() = 0;
    /// Copies from the workspace, after the last call.
    virtual void read(void* host, std::int64_t offset, std::int64_t bytes) = 0;
    /// Copies to the workspace, after the last call.
    virtual void write(std::int64_t offset, const void* host, std::int64_t bytes) = 0;
    virtual void set_executor(Executor executor) = 0;

    /// The stream that the copies of a host call and its launches share.
    virtual Stream host_stream() const = 0;
    /// Where the device sees `host`: itself on the CPU, else memory kept for this role, grown where needed.
    virtual void* device_array(GridRole role, void* host, std::int64_t bytes) = 0;
    virtual void upload(void* device, const void* host, std::int64_t bytes) = 0;
    virtual void download(void* host, const void* device, std::int64_t bytes) = 0;

  protected:
    void* workspace_ = nullptr;
};

/// The plan's state must outlive the engine.
std::unique_ptr<GridEngine> make_grid_cpu_engine(std::shared_ptr<const GridPlan::State> plan);
/// Throws DeviceError also in a build without the device's backend.
std::unique_ptr<GridEngine> make_grid_gpu_engine(std::shared_ptr<const GridPlan::State> plan);

}  // namespace trifold
