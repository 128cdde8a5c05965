#include "runtime/device/gpu_driver.hpp"

#ifdef TRIFOLD_HAS_HIP
#define __HIP_DISABLE_CPP_FUNCTIONS__  // their overloads have no single address
#include <hip/hip_runtime_api.h>       // types only: the driver is opened at run time, so that the library loads where there is none

#include <cstdlib>

#include "runtime/device/driver_over.hpp"

namespace trifold::gpu {
namespace {

// clang-format off: it indents every line further
/// Everything used of the driver. The header may map names to versioned ones; the table follows it.
#define TRIFOLD_HIP_FUNCTIONS(X) \
    X(init, hipInit) X(driver_version, hipDriverGetVersion) X(error_name, hipGetErrorName) X(error_text, hipGetErrorString) \
    X(count_devices, hipGetDeviceCount) X(current_device, hipGetDevice) X(set_device, hipSetDevice) \
    X(properties, hipGetDeviceProperties) X(device_attribute, hipDeviceGetAttribute) X(synchronize_device, hipDeviceSynchronize) \
    X(load_module, hipModuleLoadData) X(unload_module, hipModuleUnload) X(get_function, hipModuleGetFunction) \
    X(function_attribute, hipFuncGetAttribute) X(allocate, hipMalloc) X(free, hipFree) X(memory_info, hipMemGetInfo) \
    X(fill, hipMemsetAsync) X(copy_any, hipMemcpyAsync) X(pointer_attributes, hipPointerGetAttributes) \
    X(create_stream, hipStreamCreateWithFlags) X(create_urgent_stream, hipStreamCreateWithPriority) X(wait_for, hipStreamWaitEvent) \
    X(destroy_stream, hipStreamDestroy) X(synchronize_stream, hipStreamSynchronize) X(query_stream, hipStreamQuery) \
    X(is_capturing, hipStreamIsCapturing) X(begin_recording, hipStreamBeginCapture) X(end_recording, hipStreamEndCapture) \
    X(create_graph, hipGraphCreate) X(destroy_graph, hipGraphDestroy) X(add_kernel, hipGraphAddKernelNode) \
    X(instantiate, hipGraphInstantiate) X(destroy_executable, hipGraphExecDestroy) X(set_kernel, hipGraphExecKernelNodeSetParams) \
    X(launch_graph, hipGraphLaunch) X(launch, hipModuleLaunchKernel)
/// Functions that measure.
#define TRIFOLD_HIP_EVENTS(X) \
    X(create_event, hipEventCreateWithFlags) X(destroy_event, hipEventDestroy) X(record, hipEventRecord) X(query_event, hipEventQuery) \
    X(elapsed, hipEventElapsedTime) X(exchange_mode, hipThreadExchangeStreamCaptureMode) X(peek_error, hipPeekAtLastError) \
    X(take_error, hipGetLastError)
// clang-format on

struct Needed {
    TRIFOLD_SYMBOLS(TRIFOLD_HIP_FUNCTIONS)
};
struct Events {
    TRIFOLD_SYMBOLS(TRIFOLD_HIP_EVENTS)
};
struct Hip : Needed, Events {
    Symbol<hipError_t(hipStream_t, hipDevice_t*)> stream_device{"hipStreamGetDevice", "hipStreamGetDevice"};  // newer releases have it
    bool has_events = false, has_stream_device = false;
    int version = HIP_VERSION;  // 10000000 * major + 100000 * minor + patch

    using Result = hipError_t;
    using Module = hipModule_t;
    using Function = hipFunction_t;
    using Address = void*;
    using Event = hipEvent_t;
    using Graph = hipGraph_t;
    using Node = hipGraphNode_t;
    using CaptureMode = hipStreamCaptureMode;
    static constexpr auto backend = Backend::hip;
    static constexpr auto success = hipSuccess, out_of_memory = hipErrorOutOfMemory, lacks_device = hipErrorNoDevice,
                          invalid_device = hipErrorInvalidDevice, not_found = hipErrorNotFound, not_ready = hipErrorNotReady;
    static constexpr auto max_shared_bytes = hipDeviceAttributeMaxSharedMemoryPerBlock,
                          multiprocessors = hipDeviceAttributeMultiprocessorCount,
                          reads_host_memory = hipDeviceAttributePageableMemoryAccess;
    static constexpr auto max_threads = HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, own_shared_bytes = HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES;
    static constexpr auto relaxed = hipStreamCaptureModeRelaxed, thread_local_mode = hipStreamCaptureModeThreadLocal;
    static constexpr auto not_capturing = hipStreamCaptureStatusNone;
    static constexpr unsigned non_blocking = hipStreamNonBlocking;
    static constexpr auto no_device = "HIP {} lists no device; check HIP_VISIBLE_DEVICES, the groups video and render, and rocminfo";

    void find_newer(void* library) { has_stream_device = stream_device.find(library); }
    std::string release() const { return fmt::format("{}.{}", version / 10000000, version / 100000 % 100); }
    std::string reason(hipError_t result) const { return fmt::format("{} ({})", error_name(result), error_text(result)); }
    bool has_happened(void* event) const {
        const bool clean = peek_error() == hipSuccess;
        const auto state = query_event(event);
        // "Not ready" is kept as this thread's last error, which the application may look at.
        if (state == hipErrorNotReady && clean) (void)take_error();
        return state == hipSuccess;
    }
    /// The driver takes a module's function where its documentation speaks of a host function.
    static hipKernelNodeParams node_of(const KernelLaunch& grid) {
        hipKernelNodeParams node{};
        node.func = grid.function;
        node.gridDim = dim3(grid.x, grid.y, 1);
        node.blockDim = dim3(grid.threads, 1, 1);
        node.sharedMemBytes = grid.shared_bytes;
        node.kernelParams = grid.arguments;
        return node;
    }
};

/// HIP has such launches for functions of the host's program, and none for those of a module.
void refuse_together(const KernelLaunch& grid) {
    if (grid.together) throw LaunchError("HIP launches no kernel of a module whose thread blocks wait for one another; pin one_launch=0");
}

class HipDriver final : public DriverOver<Hip> {
  public:
    using DriverOver::DriverOver;

    // Devices, not contexts, are current in HIP.
    void* retain(int) const override { return nullptr; }
    void release(int) const noexcept override {}
    void* enter(int ordinal, void*) const override {
        const auto previous = made_by(api_.current_device);
        if (previous != ordinal) call(api_.set_device, ordinal);
        return reinterpret_cast<void*>(std::intptr_t{previous});
    }
    void leave(void* previous) const noexcept override {
        (void)api_.set_device(static_cast<int>(reinterpret_cast<std::intptr_t>(previous)));
    }

    std::string device_name(int ordinal) const override { return made_by(api_.properties, ordinal).name; }
    bool is_device_memory(const void* pointer) const override {
        hipPointerAttribute_t attributes{};
        const auto result = api_.pointer_attributes(&attributes, pointer);
        if (result != hipErrorInvalidValue) check(result, api_.pointer_attributes.name);
#if HIP_VERSION_MAJOR >= 6
        return result == hipSuccess && attributes.type != hipMemoryTypeUnregistered;
#else
        return result == hipSuccess;
#endif
    }
    void allow_shared(void*, int) const override {}  // all of it is allowed

    void copy_to_device(void* to, const void* from, std::size_t bytes, void* stream) const override {
        call(api_.copy_any, to, from, bytes, hipMemcpyHostToDevice, stream);
    }
    void copy(void* to, const void* from, std::size_t bytes, void* stream) const override {
        call(api_.copy_any, to, from, bytes, hipMemcpyDeviceToDevice, stream);
    }
    void copy_to_host(void* to, const void* from, std::size_t bytes, void* stream) const override {
        call(api_.copy_any, to, from, bytes, hipMemcpyDeviceToHost, stream);
    }
    int device_of(void* stream) const override {
        if (stream == nullptr || !api_.has_stream_device) return made_by(api_.current_device);
        hipDevice_t found = 0;
        call(api_.stream_device, stream, &found);
        return found;
    }

    void launch(const KernelLaunch& grid, void* stream) const override {
        refuse_together(grid);
        DriverOver::launch(grid, stream);
    }
    void* add_kernel(void* graph, const std::vector<void*>& after, const KernelLaunch& grid, bool early) const override {
        refuse_together(grid);
        return DriverOver::add_kernel(graph, after, grid, early);
    }
    bool can_repeat() const override { return false; }
    unsigned long long create_condition(void*) const override { throw LaunchError("graphs of HIP cannot repeat launches"); }
    While add_while(void*, const std::vector<void*>&, unsigned long long) const override {
        throw LaunchError("graphs of HIP cannot repeat launches");
    }
    void* instantiate(void* graph) const override { return made_by(api_.instantiate, graph, nullptr, nullptr, std::size_t{0}); }
    void upload(void*, void*) const override {}  // older releases have no such call; the first launch does it

  private:
    int device_count() const override {
        int count = 0;
        return api_.count_devices(&count) == hipSuccess ? count : 0;  // an error, where there is none
    }
    DeviceInfo describe_device(int ordinal) const override {
        const auto properties = made_by(api_.properties, ordinal);
        const std::string arch = properties.gcnArchName;  // such as gfx90a:sramecc+:xnack-
        return {properties.name, arch.substr(0, arch.find(':')), static_cast<std::int64_t>(properties.totalGlobalMem)};
    }
};

constexpr const char* library_name = "libamdhip64.so." TRIFOLD_EXPANDED_STRING(HIP_VERSION_MAJOR);

/// The release whose headers this was built with: structures differ between major versions.
void* open_library() {
    std::vector<std::string> candidates{library_name};
    for (const auto* root : {"ROCM_PATH", "HIP_PATH"}) {
        if (const char* value = std::getenv(root); value != nullptr) candidates.push_back(fmt::format("{}/lib/{}", value, library_name));
    }
    candidates.push_back(fmt::format("/opt/rocm/lib/{}", library_name));
    for (const auto& candidate : candidates) {
        if (void* library = ::dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    }
    return nullptr;
}

}  // namespace

Opened open_hip() {
    constexpr auto advice = "install ROCm and see that rocminfo lists a device, or use the CPU";
    void* library = open_library();
    if (library == nullptr) return {nullptr, fmt::format("{} was not found; {}", library_name, advice)};
    return open_in<Hip, HipDriver>(library, library_name, advice);
}

}  // namespace trifold::gpu

#else

trifold::gpu::Opened trifold::gpu::open_hip() {
    return {nullptr, "this build has no support of HIP devices; build with -DTRIFOLD_HIP=ON where hip/hip_runtime_api.h is found"};
}

#endif
