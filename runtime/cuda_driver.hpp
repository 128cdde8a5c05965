#pragma once
#include <cuda.h>  // types only: the driver is opened at run time, so that the library loads where there is none

#include <cstdint>
#include <string>

namespace trifold::cuda {

/// Everything used of the driver. cuda.h maps some names to versioned ones; the table follows it.
// clang-format off: it indents every line further
#define TRIFOLD_CUDA_FUNCTIONS(X) \
    X(cuInit) X(cuDriverGetVersion) X(cuGetErrorName) X(cuGetErrorString) X(cuDeviceGet) X(cuDeviceGetCount) \
    X(cuDeviceGetName) X(cuDeviceGetAttribute) X(cuDeviceTotalMem) X(cuDevicePrimaryCtxRetain) \
    X(cuDevicePrimaryCtxRelease) X(cuCtxPushCurrent) X(cuCtxPopCurrent) X(cuCtxGetDevice) X(cuCtxSynchronize) \
    X(cuModuleLoadData) X(cuModuleUnload) X(cuModuleGetFunction) X(cuFuncGetAttribute) X(cuFuncSetAttribute) \
    X(cuMemAlloc) X(cuMemFree) X(cuMemGetInfo) X(cuMemsetD8Async) X(cuMemcpyHtoDAsync) X(cuMemcpyDtoHAsync) \
    X(cuPointerGetAttribute) X(cuStreamCreate) X(cuStreamDestroy) X(cuStreamSynchronize) X(cuStreamGetCtx) \
    X(cuStreamIsCapturing) X(cuGraphCreate) X(cuGraphDestroy) X(cuGraphAddKernelNode) X(cuGraphInstantiateWithFlags) \
    X(cuGraphExecDestroy) X(cuGraphExecKernelNodeSetParams) X(cuGraphUpload) X(cuGraphLaunch) X(cuLaunchKernel)
// clang-format on

struct Driver {
#define TRIFOLD_DECLARE(name) decltype(&::name) name = nullptr;
    TRIFOLD_CUDA_FUNCTIONS(TRIFOLD_DECLARE)
#undef TRIFOLD_DECLARE
    std::string problem;  ///< why the driver cannot be used, and what to do; empty: it can
    int version = 0;      ///< newest CUDA version it serves: 1000 * major + 10 * minor
};

/// Opened and initialized once; never throws, see `problem`.
const Driver& opened_driver();
/// The same; throws DeviceError when there is a problem.
const Driver& driver();

/// Throws DeviceError (out of memory, no device) or LaunchError naming the call and the driver's reason.
void check(CUresult result, const char* call);
std::string describe(CUresult result);

/// Calls a driver function and checks its result.
#define TRIFOLD_CU(function, ...) ::trifold::cuda::check(::trifold::cuda::driver().function(__VA_ARGS__), #function)

/// A device's primary context, retained.
class Context {
  public:
    explicit Context(int ordinal);
    ~Context();
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;
    CUcontext get() const { return context_; }
    CUdevice device() const { return device_; }

  private:
    CUdevice device_ = 0;
    CUcontext context_ = nullptr;
};

/// Makes a context current; the caller's is restored at the end of the scope.
class Current {
  public:
    explicit Current(CUcontext context) { TRIFOLD_CU(cuCtxPushCurrent, context); }
    ~Current() {
        CUcontext popped = nullptr;
        driver().cuCtxPopCurrent(&popped);
    }
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;
};

int device_attribute(CUdevice device, CUdevice_attribute attribute);
std::string device_name(CUdevice device);

}  // namespace trifold::cuda
