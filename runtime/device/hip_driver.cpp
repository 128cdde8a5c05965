#include "runtime/device/gpu_driver.hpp"

#ifdef TRIFOLD_HAS_HIP
#define __HIP_DISABLE_CPP_FUNCTIONS__  // their overloads have no single address
#include <dlfcn.h>
#include <fmt/format.h>
#include <hip/hip_runtime_api.h>  // types only: the driver is opened at run time, so that the library loads where there is none

#include <array>
#include <cstdlib>
#include <trifold/error.hpp>

namespace trifold::gpu {
namespace {

/// Everything used of the driver. The header may map names to versioned ones; the table follows it.
// clang-format off: it indents every line further
#define TRIFOLD_HIP_FUNCTIONS(X) \
    X(hipInit) X(hipDriverGetVersion) X(hipGetErrorName) X(hipGetErrorString) X(hipGetDeviceCount) X(hipGetDevice) \
    X(hipSetDevice) X(hipGetDeviceProperties) X(hipDeviceGetAttribute) X(hipDeviceSynchronize) X(hipModuleLoadData) \
    X(hipModuleUnload) X(hipModuleGetFunction) X(hipFuncGetAttribute) X(hipMalloc) X(hipFree) X(hipMemGetInfo) \
    X(hipMemsetAsync) X(hipMemcpyAsync) X(hipPointerGetAttributes) X(hipStreamCreateWithFlags) X(hipStreamCreateWithPriority) X(hipStreamWaitEvent) X(hipStreamDestroy) \
    X(hipStreamSynchronize) X(hipStreamQuery) X(hipStreamIsCapturing) X(hipStreamBeginCapture) X(hipStreamEndCapture) X(hipGraphCreate) X(hipGraphDestroy) X(hipGraphAddKernelNode) \
    X(hipGraphInstantiate) X(hipGraphExecDestroy) X(hipGraphExecKernelNodeSetParams) X(hipGraphLaunch) \
    X(hipModuleLaunchKernel)
// clang-format on

struct Functions {
#define TRIFOLD_DECLARE(name) decltype(&::name) name = nullptr;
    TRIFOLD_HIP_FUNCTIONS(TRIFOLD_DECLARE)
#undef TRIFOLD_DECLARE
    hipError_t (*hipStreamGetDevice)(hipStream_t, hipDevice_t*) = nullptr;  ///< newer releases have it; null before
};

/// Functions that measure, where the library has all of them.
struct EventFunctions {
    decltype(&::hipEventCreateWithFlags) create = nullptr;
    decltype(&::hipEventDestroy) destroy = nullptr;
    decltype(&::hipEventRecord) record = nullptr;
    decltype(&::hipEventQuery) query = nullptr;
    decltype(&::hipEventElapsedTime) elapsed = nullptr;
    decltype(&::hipThreadExchangeStreamCaptureMode) exchange_mode = nullptr;
    decltype(&::hipPeekAtLastError) peek_error = nullptr;
    decltype(&::hipGetLastError) take_error = nullptr;
    bool complete() const { return create && destroy && record && query && elapsed && exchange_mode && peek_error && take_error; }
};

#define TRIFOLD_STRING(text) #text
#define TRIFOLD_EXPANDED_STRING(macro) TRIFOLD_STRING(macro)

constexpr const char* library_name = "libamdhip64.so." TRIFOLD_EXPANDED_STRING(HIP_VERSION_MAJOR);
constexpr const char* advice = "install ROCm and see that rocminfo lists a device, or use the CPU";

/// The name of a function that the library lacks; empty when all are there.
std::string resolve(Functions& functions, void* library) {
    std::string missing;
    const auto find = [&](auto& function, const char* name) {
        function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
        return function != nullptr;
    };
#define TRIFOLD_RESOLVE(name) \
    if (!find(functions.name, TRIFOLD_EXPANDED_STRING(name))) missing = TRIFOLD_EXPANDED_STRING(name);
    TRIFOLD_HIP_FUNCTIONS(TRIFOLD_RESOLVE)
#undef TRIFOLD_RESOLVE
    find(functions.hipStreamGetDevice, "hipStreamGetDevice");
    return missing;
}

EventFunctions resolve_events(void* library) {
    EventFunctions events;
    const auto find = [&](auto& function, const char* name) {
        function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
    };
    find(events.create, "hipEventCreateWithFlags");
    find(events.destroy, "hipEventDestroy");
    find(events.record, "hipEventRecord");
    find(events.query, "hipEventQuery");
    find(events.elapsed, "hipEventElapsedTime");
    find(events.exchange_mode, "hipThreadExchangeStreamCaptureMode");
    find(events.peek_error, "hipPeekAtLastError");
    find(events.take_error, "hipGetLastError");
    return events.complete() ? events : EventFunctions{};
}

std::string reason(const Functions& functions, hipError_t result) {
    return fmt::format("{} ({})", functions.hipGetErrorName(result), functions.hipGetErrorString(result));
}

hipStream_t stream_of(void* stream) { return static_cast<hipStream_t>(stream); }

/// The driver takes a module's function where its documentation speaks of a host function.
hipKernelNodeParams node_of(const KernelLaunch& grid) {
    hipKernelNodeParams node{};
    node.func = grid.function;
    node.gridDim = dim3(grid.x, grid.y, 1);
    node.blockDim = dim3(grid.threads, 1, 1);
    node.sharedMemBytes = grid.shared_bytes;
    node.kernelParams = grid.arguments;
    return node;
}

/// HIP has such launches for functions of the host's program, and none for those of a module.
void refuse_together(const KernelLaunch& grid) {
    if (grid.together) throw LaunchError("HIP launches no kernel of a module whose thread blocks wait for one another; pin one_launch=0");
}

/// Calls a driver function and checks its result.
#define TRIFOLD_HIP(function, ...) check(functions_.function(__VA_ARGS__), #function)

class HipDriver final : public Driver {
  public:
    HipDriver(const Functions& functions, const EventFunctions& events, int version)
        : functions_(functions), events_(events), version_(version) {}
    Backend backend() const override { return Backend::hip; }

    Report report() const override {
        Report result;
        result.driver = fmt::format("{}.{}", version_ / 10000000, version_ / 100000 % 100);
        int count = 0;
        if (functions_.hipGetDeviceCount(&count) != hipSuccess) count = 0;  // an error, where there is none
        for (int ordinal = 0; ordinal < count; ++ordinal) {
            const auto properties = properties_of(ordinal);
            const std::string arch = properties.gcnArchName;  // such as gfx90a:sramecc+:xnack-
            result.devices.push_back(
                {properties.name, arch.substr(0, arch.find(':')), static_cast<std::int64_t>(properties.totalGlobalMem)});
        }
        if (count == 0)
            result.problem =
                fmt::format("HIP {} lists no device; check HIP_VISIBLE_DEVICES, the groups video and render, and rocminfo", result.driver);
        return result;
    }

    // Devices, not contexts, are current in HIP.
    void* retain(int) const override { return nullptr; }
    void release(int) const noexcept override {}
    void* enter(int ordinal, void*) const override {
        int previous = 0;
        TRIFOLD_HIP(hipGetDevice, &previous);
        if (previous != ordinal) TRIFOLD_HIP(hipSetDevice, ordinal);
        return reinterpret_cast<void*>(std::intptr_t{previous});
    }
    void leave(void* previous) const noexcept override {
        (void)functions_.hipSetDevice(static_cast<int>(reinterpret_cast<std::intptr_t>(previous)));
    }
    void synchronize_device() const override { TRIFOLD_HIP(hipDeviceSynchronize); }

    int relax() const noexcept override {
        auto mode = hipStreamCaptureModeRelaxed;
        if (events_.complete()) (void)events_.exchange_mode(&mode);
        return mode;
    }
    void restore(int old) const noexcept override {
        auto mode = static_cast<hipStreamCaptureMode>(old);
        if (events_.complete()) (void)events_.exchange_mode(&mode);
    }

    std::string device_name(int ordinal) const override { return properties_of(ordinal).name; }
    long long most_shared_bytes(int ordinal) const override { return attribute(ordinal, hipDeviceAttributeMaxSharedMemoryPerBlock); }
    int multiprocessors(int ordinal) const override { return attribute(ordinal, hipDeviceAttributeMultiprocessorCount); }
    bool reads_host_memory(int ordinal) const override { return attribute(ordinal, hipDeviceAttributePageableMemoryAccess) != 0; }
    bool is_device_memory(const void* pointer) const override {
        hipPointerAttribute_t attributes{};
        const auto result = functions_.hipPointerGetAttributes(&attributes, pointer);
        if (result != hipErrorInvalidValue) check(result, "hipPointerGetAttributes");
#if HIP_VERSION_MAJOR >= 6
        return result == hipSuccess && attributes.type != hipMemoryTypeUnregistered;
#else
        return result == hipSuccess;
#endif
    }

    void* load_module(const std::string& code, const std::string& device) const override {
        hipModule_t module = nullptr;
        const auto result = functions_.hipModuleLoadData(&module, code.data());
        if (result == hipErrorOutOfMemory) check(result, "hipModuleLoadData");
        if (result != hipSuccess)
            throw DeviceError(fmt::format("{} does not load the compiled kernels ({} bytes): hipModuleLoadData failed: {}", device,
                                          code.size(), reason(functions_, result)));
        return module;
    }
    void unload_module(void* module) const noexcept override { (void)functions_.hipModuleUnload(static_cast<hipModule_t>(module)); }
    void* find_function(void* module, const std::string& name) const override {
        hipFunction_t found = nullptr;
        const auto result = functions_.hipModuleGetFunction(&found, static_cast<hipModule_t>(module), name.c_str());
        if (result == hipErrorNotFound) return nullptr;
        check(result, "hipModuleGetFunction");
        return found;
    }
    Limits limits(void* function) const override {
        return {attribute_of(function, HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
                attribute_of(function, HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)};
    }
    void allow_shared(void*, int) const override {}  // all of it is allowed

    void* allocate(std::size_t bytes) const override {
        void* memory = nullptr;
        const auto result = functions_.hipMalloc(&memory, bytes);
        if (result == hipErrorOutOfMemory) return nullptr;
        check(result, "hipMalloc");
        return memory;
    }
    void free(void* memory) const noexcept override { (void)functions_.hipFree(memory); }
    void memory_info(std::size_t& free, std::size_t& total) const override { TRIFOLD_HIP(hipMemGetInfo, &free, &total); }
    void fill(void* memory, unsigned char byte, std::size_t bytes, void* stream) const override {
        TRIFOLD_HIP(hipMemsetAsync, memory, byte, bytes, stream_of(stream));
    }
    void copy_to_device(void* to, const void* from, std::size_t bytes, void* stream) const override {
        TRIFOLD_HIP(hipMemcpyAsync, to, from, bytes, hipMemcpyHostToDevice, stream_of(stream));
    }
    void copy(void* to, const void* from, std::size_t bytes, void* stream) const override {
        TRIFOLD_HIP(hipMemcpyAsync, to, from, bytes, hipMemcpyDeviceToDevice, stream_of(stream));
    }
    void copy_to_host(void* to, const void* from, std::size_t bytes, void* stream) const override {
        TRIFOLD_HIP(hipMemcpyAsync, to, from, bytes, hipMemcpyDeviceToHost, stream_of(stream));
    }

    void* create_stream() const override {
        hipStream_t stream = nullptr;
        TRIFOLD_HIP(hipStreamCreateWithFlags, &stream, hipStreamNonBlocking);
        return stream;
    }
    void* create_urgent_stream() const override {
        hipStream_t stream = nullptr;
        TRIFOLD_HIP(hipStreamCreateWithPriority, &stream, hipStreamNonBlocking, most_urgent);
        return stream;
    }
    void destroy_stream(void* stream) const noexcept override { (void)functions_.hipStreamDestroy(stream_of(stream)); }
    void synchronize_stream(void* stream) const override { TRIFOLD_HIP(hipStreamSynchronize, stream_of(stream)); }
    bool is_done(void* stream) const override {
        const auto result = functions_.hipStreamQuery(stream_of(stream));
        if (result != hipErrorNotReady) check(result, "hipStreamQuery");
        return result == hipSuccess;
    }
    bool is_capturing(void* stream) const override {
        auto capture = hipStreamCaptureStatusNone;
        TRIFOLD_HIP(hipStreamIsCapturing, stream_of(stream), &capture);
        return capture != hipStreamCaptureStatusNone;
    }
    int device_of(void* stream) const override {
        hipDevice_t found = 0;
        if (stream == nullptr || functions_.hipStreamGetDevice == nullptr)
            TRIFOLD_HIP(hipGetDevice, &found);
        else
            TRIFOLD_HIP(hipStreamGetDevice, stream_of(stream), &found);
        return found;
    }

    void* create_event() const noexcept override {
        hipEvent_t event = nullptr;
        const bool made = events_.complete() && events_.create(&event, hipEventDefault) == hipSuccess;
        return made ? event : nullptr;
    }
    void destroy_event(void* event) const noexcept override {
        if (event != nullptr) (void)events_.destroy(static_cast<hipEvent_t>(event));
    }
    bool record(void* event, void* stream) const noexcept override {
        return events_.record(static_cast<hipEvent_t>(event), stream_of(stream)) == hipSuccess;
    }
    void wait_for(void* event, void* stream) const override {
        TRIFOLD_HIP(hipStreamWaitEvent, stream_of(stream), static_cast<hipEvent_t>(event), 0U);
    }
    std::optional<double> seconds_between(void* first, void* last) const noexcept override {
        // In the usual mode a query would spoil the graph that another thread is recording.
        auto mode = hipStreamCaptureModeRelaxed;
        if (events_.exchange_mode(&mode) != hipSuccess) return std::nullopt;
        const bool clean = events_.peek_error() == hipSuccess;
        float milliseconds = 0;
        const auto state = events_.query(static_cast<hipEvent_t>(last));
        // "Not ready" is kept as this thread's last error, which the application may look at.
        if (state == hipErrorNotReady && clean) (void)events_.take_error();
        const bool ended = state == hipSuccess &&
                           events_.elapsed(&milliseconds, static_cast<hipEvent_t>(first), static_cast<hipEvent_t>(last)) == hipSuccess;
        (void)events_.exchange_mode(&mode);
        return ended ? std::optional(1e-3 * milliseconds) : std::nullopt;
    }

    void launch(const KernelLaunch& grid, void* stream) const override {
        refuse_together(grid);
        TRIFOLD_HIP(hipModuleLaunchKernel, static_cast<hipFunction_t>(grid.function), grid.x, grid.y, 1U, grid.threads, 1U, 1U,
                    grid.shared_bytes, stream_of(stream), grid.arguments, nullptr);
    }
    void begin_recording(void* stream) const override {
        TRIFOLD_HIP(hipStreamBeginCapture, stream_of(stream), hipStreamCaptureModeThreadLocal);
    }
    void* end_recording(void* stream) const noexcept override {
        hipGraph_t graph = nullptr;
        return functions_.hipStreamEndCapture(stream_of(stream), &graph) == hipSuccess ? graph : nullptr;
    }
    void* create_graph() const override {
        hipGraph_t graph = nullptr;
        TRIFOLD_HIP(hipGraphCreate, &graph, 0U);
        return graph;
    }
    void destroy_graph(void* graph) const noexcept override { (void)functions_.hipGraphDestroy(static_cast<hipGraph_t>(graph)); }
    void* add_kernel(void* graph, const std::vector<void*>& after, const KernelLaunch& grid, bool) const override {
        refuse_together(grid);
        std::vector<hipGraphNode_t> nodes;
        for (auto* node : after) nodes.push_back(static_cast<hipGraphNode_t>(node));
        const auto parameters = node_of(grid);
        hipGraphNode_t node = nullptr;
        TRIFOLD_HIP(hipGraphAddKernelNode, &node, static_cast<hipGraph_t>(graph), nodes.data(), nodes.size(), &parameters);
        return node;
    }
    bool can_repeat() const override { return false; }
    unsigned long long create_condition(void*) const override { throw LaunchError("graphs of HIP cannot repeat launches"); }
    While add_while(void*, const std::vector<void*>&, unsigned long long) const override {
        throw LaunchError("graphs of HIP cannot repeat launches");
    }
    void* instantiate(void* graph) const override {
        hipGraphExec_t executable = nullptr;
        TRIFOLD_HIP(hipGraphInstantiate, &executable, static_cast<hipGraph_t>(graph), nullptr, nullptr, 0);
        return executable;
    }
    void destroy_executable(void* executable) const noexcept override {
        (void)functions_.hipGraphExecDestroy(static_cast<hipGraphExec_t>(executable));
    }
    void set_kernel(void* executable, void* node, const KernelLaunch& grid) const override {
        const auto parameters = node_of(grid);
        TRIFOLD_HIP(hipGraphExecKernelNodeSetParams, static_cast<hipGraphExec_t>(executable), static_cast<hipGraphNode_t>(node),
                    &parameters);
    }
    void upload(void*, void*) const override {}  // older releases have no such call; the first launch does it
    void launch_graph(void* executable, void* stream) const override {
        TRIFOLD_HIP(hipGraphLaunch, static_cast<hipGraphExec_t>(executable), stream_of(stream));
    }

  private:
    void check(hipError_t result, const char* call) const {
        if (result == hipSuccess) return;
        const auto text = fmt::format("{} failed: {}", call, reason(functions_, result));
        if (result == hipErrorOutOfMemory || result == hipErrorNoDevice || result == hipErrorInvalidDevice) throw DeviceError(text);
        throw LaunchError(text);
    }
    hipDeviceProp_t properties_of(int ordinal) const {
        hipDeviceProp_t properties{};
        TRIFOLD_HIP(hipGetDeviceProperties, &properties, ordinal);
        return properties;
    }
    int attribute(int ordinal, hipDeviceAttribute_t attribute) const {
        int value = 0;
        TRIFOLD_HIP(hipDeviceGetAttribute, &value, attribute, ordinal);
        return value;
    }
    int attribute_of(void* function, hipFunction_attribute attribute) const {
        int value = 0;
        TRIFOLD_HIP(hipFuncGetAttribute, &value, attribute, static_cast<hipFunction_t>(function));
        return value;
    }

    Functions functions_;
    EventFunctions events_;  // all or none
    int version_;            // 10000000 * major + 100000 * minor + patch
};

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
    // Never closed: static destructors of others may still call into it.
    void* library = open_library();
    if (library == nullptr) return {nullptr, fmt::format("{} was not found; {}", library_name, advice)};
    Functions functions;
    if (const auto missing = resolve(functions, library); !missing.empty())
        return {nullptr, fmt::format("{} is too old, it has no {}; {}", library_name, missing, advice)};
    if (const auto code = functions.hipInit(0); code != hipSuccess)
        return {nullptr, fmt::format("the driver does not start: hipInit failed with {}; {}", reason(functions, code), advice)};
    int version = 0;
    if (functions.hipDriverGetVersion(&version) != hipSuccess) version = HIP_VERSION;
    return {std::make_unique<HipDriver>(functions, resolve_events(library), version), {}};
}

}  // namespace trifold::gpu

#else

trifold::gpu::Opened trifold::gpu::open_hip() {
    return {nullptr, "this build has no support of HIP devices; build with -DTRIFOLD_HIP=ON where hip/hip_runtime_api.h is found"};
}

#endif
