// A libamdhip64 for tests: HIP's calls in front of the fake CUDA driver, which runs the kernels in the emulator. It has two devices;
// only device 0 can do anything, so that a forgotten or unrestored hipSetDevice shows.
#define __HIP_DISABLE_CPP_FUNCTIONS__
#include <cuda.h>
#include <hip/hip_runtime_api.h>

#include <cstring>
#include <map>
#include <utility>

#include "tests/support/drivers/drivers.hpp"

using trifold::test::fake_cuda;

namespace {

thread_local int current_device = 0;
hipError_t last_error = hipSuccess;  // of the calls that a test looks at

hipError_t translate(CUresult result) {
    const std::map<CUresult, hipError_t> known{{CUDA_SUCCESS, hipSuccess},
                                               {CUDA_ERROR_OUT_OF_MEMORY, hipErrorOutOfMemory},
                                               {CUDA_ERROR_INVALID_VALUE, hipErrorInvalidValue},
                                               {CUDA_ERROR_NOT_FOUND, hipErrorNotFound},
                                               {CUDA_ERROR_NOT_READY, hipErrorNotReady},
                                               {CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, hipErrorStreamCaptureUnsupported}};
    const auto found = known.find(result);
    return found == known.end() ? hipErrorUnknown : found->second;
}

/// Calls the fake CUDA driver in its primary context, unless the test wants `name` to fail or another device is current.
template <class Function, class... Arguments>
hipError_t forward(const char* name, Function function, Arguments... arguments) {
    if (fake_cuda().failing_call == name) return hipErrorUnknown;
    if (current_device != 0) return hipErrorInvalidContext;
    CUcontext context = nullptr;
    cuDevicePrimaryCtxRetain(&context, 0);
    cuCtxPushCurrent(context);
    const auto result = function(arguments...);
    cuCtxPopCurrent(&context);
    cuDevicePrimaryCtxRelease(0);
    return translate(result);
}

CUstream stream_of(hipStream_t stream) { return reinterpret_cast<CUstream>(stream); }
CUdeviceptr address(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

CUDA_KERNEL_NODE_PARAMS node_of(const hipKernelNodeParams& from) {
    CUDA_KERNEL_NODE_PARAMS node{};
    node.func = static_cast<CUfunction>(from.func);
    node.gridDimX = from.gridDim.x;
    node.gridDimY = from.gridDim.y;
    node.gridDimZ = from.gridDim.z;
    node.blockDimX = from.blockDim.x;
    node.blockDimY = node.blockDimZ = 1;
    node.sharedMemBytes = from.sharedMemBytes;
    node.kernelParams = from.kernelParams;
    return node;
}

}  // namespace

extern "C" {

hipError_t hipInit(unsigned) { return hipSuccess; }
hipError_t hipDriverGetVersion(int* version) { return *version = 60200000, hipSuccess; }
const char* hipGetErrorName(hipError_t) { return "hipErrorFake"; }
const char* hipGetErrorString(hipError_t) { return "as the test asked"; }
hipError_t hipGetDeviceCount(int* count) { return *count = 2, hipSuccess; }
hipError_t hipGetDevice(int* device) { return *device = current_device, hipSuccess; }
hipError_t hipSetDevice(int device) { return current_device = device, hipSuccess; }
hipError_t hipGetDeviceProperties(hipDeviceProp_t* properties, int device) {
    *properties = {};
    std::strcpy(properties->name, device == 0 ? "Fake" : "Old");
    std::strcpy(properties->gcnArchName, device == 0 ? "gfx1100:sramecc-" : "gfx803");
    properties->totalGlobalMem = static_cast<std::size_t>(fake_cuda().memory_bytes);
    return hipSuccess;
}
hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t attribute, int) {
    return *value = attribute == hipDeviceAttributeMaxSharedMemoryPerBlock ? 65536 : 0, hipSuccess;
}
hipError_t hipDeviceSynchronize() { return forward(__func__, cuCtxSynchronize); }

hipError_t hipModuleLoadData(hipModule_t* module, const void* image) {
    return forward(__func__, cuModuleLoadData, reinterpret_cast<CUmodule*>(module), image);
}
hipError_t hipModuleUnload(hipModule_t module) { return forward(__func__, cuModuleUnload, reinterpret_cast<CUmodule>(module)); }
hipError_t hipModuleGetFunction(hipFunction_t* function, hipModule_t module, const char* name) {
    const auto result =
        forward(__func__, cuModuleGetFunction, reinterpret_cast<CUfunction*>(function), reinterpret_cast<CUmodule>(module), name);
    // All of a device's shared memory is there for every kernel.
    if (result == hipSuccess)
        cuFuncSetAttribute(reinterpret_cast<CUfunction>(*function), CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 65536);
    return result;
}
hipError_t hipFuncGetAttribute(int* value, hipFunction_attribute attribute, hipFunction_t) {
    return *value = attribute == HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024 : 0, hipSuccess;
}

hipError_t hipMalloc(void** memory, std::size_t bytes) {
    return forward(__func__, cuMemAlloc, reinterpret_cast<CUdeviceptr*>(memory), bytes);
}
hipError_t hipFree(void* memory) { return forward(__func__, cuMemFree, address(memory)); }
hipError_t hipMemGetInfo(std::size_t* free, std::size_t* total) { return forward(__func__, cuMemGetInfo, free, total); }
hipError_t hipMemsetAsync(void* to, int value, std::size_t bytes, hipStream_t stream) {
    return forward(__func__, cuMemsetD8Async, address(to), static_cast<unsigned char>(value), bytes, stream_of(stream));
}
hipError_t hipMemcpyAsync(void* to, const void* from, std::size_t bytes, hipMemcpyKind kind, hipStream_t stream) {
    if (kind == hipMemcpyHostToDevice) return forward(__func__, cuMemcpyHtoDAsync, address(to), from, bytes, stream_of(stream));
    if (kind == hipMemcpyDeviceToDevice) return forward(__func__, cuMemcpyDtoDAsync, address(to), address(from), bytes, stream_of(stream));
    return forward(__func__, cuMemcpyDtoHAsync, to, address(from), bytes, stream_of(stream));
}
hipError_t hipPointerGetAttributes(hipPointerAttribute_t* attributes, const void* pointer) {
    unsigned type = 0;
    *attributes = {};
    return forward(__func__, cuPointerGetAttribute, static_cast<void*>(&type), CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address(pointer));
}

hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned flags) {
    return forward(__func__, cuStreamCreate, reinterpret_cast<CUstream*>(stream), flags);
}
hipError_t hipStreamCreateWithPriority(hipStream_t* stream, unsigned flags, int priority) {
    return forward(__func__, cuStreamCreateWithPriority, reinterpret_cast<CUstream*>(stream), flags, priority);
}
hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned flags) {
    return forward(__func__, cuStreamWaitEvent, stream_of(stream), reinterpret_cast<CUevent>(event), flags);
}
hipError_t hipStreamDestroy(hipStream_t stream) { return forward(__func__, cuStreamDestroy, stream_of(stream)); }
hipError_t hipStreamSynchronize(hipStream_t stream) { return forward(__func__, cuStreamSynchronize, stream_of(stream)); }
hipError_t hipStreamQuery(hipStream_t stream) { return forward(__func__, cuStreamQuery, stream_of(stream)); }
hipError_t hipStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus* status) {
    auto capture = CU_STREAM_CAPTURE_STATUS_NONE;
    const auto result = forward(__func__, cuStreamIsCapturing, stream_of(stream), &capture);
    *status = capture == CU_STREAM_CAPTURE_STATUS_NONE ? hipStreamCaptureStatusNone : hipStreamCaptureStatusActive;
    return result;
}

hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode mode) {
    return forward(__func__, cuStreamBeginCapture, stream_of(stream), static_cast<CUstreamCaptureMode>(mode));
}
hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t* graph) {
    return forward(__func__, cuStreamEndCapture, stream_of(stream), reinterpret_cast<CUgraph*>(graph));
}

hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned flags) {
    return forward(__func__, cuEventCreate, reinterpret_cast<CUevent*>(event), flags);
}
hipError_t hipEventDestroy(hipEvent_t event) { return forward(__func__, cuEventDestroy, reinterpret_cast<CUevent>(event)); }
hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) {
    return forward(__func__, cuEventRecord, reinterpret_cast<CUevent>(event), stream_of(stream));
}
hipError_t hipEventSynchronize(hipEvent_t event) { return forward(__func__, cuEventSynchronize, reinterpret_cast<CUevent>(event)); }
hipError_t hipEventQuery(hipEvent_t event) {
    const auto result = forward(__func__, cuEventQuery, reinterpret_cast<CUevent>(event));
    if (result != hipSuccess) last_error = result;
    return result;
}
hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t first, hipEvent_t last) {
    return forward(__func__, cuEventElapsedTime, milliseconds, reinterpret_cast<CUevent>(first), reinterpret_cast<CUevent>(last));
}
hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode* mode) {
    return forward(__func__, cuThreadExchangeStreamCaptureMode, reinterpret_cast<CUstreamCaptureMode*>(mode));
}
hipError_t hipPeekAtLastError() { return last_error; }
hipError_t hipGetLastError() { return std::exchange(last_error, hipSuccess); }

hipError_t hipGraphCreate(hipGraph_t* graph, unsigned flags) {
    return forward(__func__, cuGraphCreate, reinterpret_cast<CUgraph*>(graph), flags);
}
hipError_t hipGraphDestroy(hipGraph_t graph) { return forward(__func__, cuGraphDestroy, reinterpret_cast<CUgraph>(graph)); }
hipError_t hipGraphAddKernelNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* after, std::size_t count,
                                 const hipKernelNodeParams* parameters) {
    const auto converted = node_of(*parameters);
    return forward(__func__, cuGraphAddKernelNode, reinterpret_cast<CUgraphNode*>(node), reinterpret_cast<CUgraph>(graph),
                   reinterpret_cast<const CUgraphNode*>(after), count, &converted);
}
hipError_t hipGraphInstantiate(hipGraphExec_t* executable, hipGraph_t graph, hipGraphNode_t*, char*, std::size_t) {
    return forward(__func__, cuGraphInstantiateWithFlags, reinterpret_cast<CUgraphExec*>(executable), reinterpret_cast<CUgraph>(graph),
                   0ULL);
}
hipError_t hipGraphExecDestroy(hipGraphExec_t executable) {
    return forward(__func__, cuGraphExecDestroy, reinterpret_cast<CUgraphExec>(executable));
}
hipError_t hipGraphExecKernelNodeSetParams(hipGraphExec_t executable, hipGraphNode_t node, const hipKernelNodeParams* parameters) {
    const auto converted = node_of(*parameters);
    return forward(__func__, cuGraphExecKernelNodeSetParams, reinterpret_cast<CUgraphExec>(executable), reinterpret_cast<CUgraphNode>(node),
                   &converted);
}
hipError_t hipGraphLaunch(hipGraphExec_t executable, hipStream_t stream) {
    return forward(__func__, cuGraphLaunch, reinterpret_cast<CUgraphExec>(executable), stream_of(stream));
}
hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned, unsigned,
                                 unsigned shared, hipStream_t stream, void** arguments, void**) {
    return forward(__func__, cuLaunchKernel, reinterpret_cast<CUfunction>(function), x, y, z, threads, 1U, 1U, shared, stream_of(stream),
                   arguments, nullptr);
}

}  // extern "C"
