#include "runtime/device/gpu_driver.hpp"

#ifdef TRIFOLD_HAS_CUDA
#include <cuda.h>  // types only: the driver is opened at run time, so that the library loads where there is none
#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <initializer_list>
#include <trifold/error.hpp>

namespace trifold::gpu {
namespace {

/// Everything used of the driver. cuda.h maps some names to versioned ones; the table follows it.
// clang-format off: it indents every line further
#define TRIFOLD_CUDA_FUNCTIONS(X) \
    X(cuInit) X(cuDriverGetVersion) X(cuGetErrorName) X(cuGetErrorString) X(cuDeviceGet) X(cuDeviceGetCount) \
    X(cuDeviceGetName) X(cuDeviceGetAttribute) X(cuDeviceTotalMem) X(cuDevicePrimaryCtxRetain) \
    X(cuDevicePrimaryCtxRelease) X(cuCtxPushCurrent) X(cuCtxPopCurrent) X(cuCtxGetDevice) X(cuCtxSynchronize) \
    X(cuModuleLoadData) X(cuModuleUnload) X(cuModuleGetFunction) X(cuFuncGetAttribute) X(cuFuncSetAttribute) \
    X(cuMemAlloc) X(cuMemFree) X(cuMemGetInfo) X(cuMemsetD8Async) X(cuMemcpyHtoDAsync) X(cuMemcpyDtoHAsync) X(cuMemcpyDtoDAsync) \
    X(cuPointerGetAttribute) X(cuStreamCreate) X(cuStreamCreateWithPriority) X(cuStreamWaitEvent) X(cuStreamDestroy) X(cuStreamSynchronize) X(cuStreamQuery) X(cuStreamGetCtx) \
    X(cuStreamIsCapturing) X(cuStreamBeginCapture) X(cuStreamEndCapture) X(cuGraphCreate) X(cuGraphDestroy) X(cuGraphAddKernelNode) \
    X(cuGraphInstantiateWithFlags) X(cuGraphExecDestroy) X(cuGraphExecKernelNodeSetParams) X(cuGraphUpload) X(cuGraphLaunch) \
    X(cuLaunchKernel) X(cuLaunchCooperativeKernel) X(cuGraphKernelNodeSetAttribute)
// clang-format on

struct Functions {
#define TRIFOLD_DECLARE(name) decltype(&::name) name = nullptr;
    TRIFOLD_CUDA_FUNCTIONS(TRIFOLD_DECLARE)
#undef TRIFOLD_DECLARE
};

/// Functions that measure, where the driver has all of them. Names of any version will do: what they take here is the same in all.
struct EventFunctions {
    decltype(&::cuEventCreate) create = nullptr;
    decltype(&::cuEventDestroy) destroy = nullptr;
    decltype(&::cuEventRecord) record = nullptr;
    decltype(&::cuEventQuery) query = nullptr;
    decltype(&::cuEventElapsedTime) elapsed = nullptr;
    decltype(&::cuThreadExchangeStreamCaptureMode) exchange_mode = nullptr;
    bool complete() const { return create && destroy && record && query && elapsed && exchange_mode; }
};

/// Edges with a meaning of their own, which drivers have from CUDA 12.3 on.
#if CUDA_VERSION >= 12030
using AddEdges = CUresult CUDAAPI(CUgraph, const CUgraphNode*, const CUgraphNode*, const CUgraphEdgeData*, std::size_t);
#else
using AddEdges = void();
#endif

/// Nodes that repeat a graph, which drivers have from CUDA 12.4 on.
#if CUDA_VERSION >= 12040
struct WhileFunctions {
    CUresult (*create_condition)(CUgraphConditionalHandle*, CUgraph, CUcontext, unsigned, unsigned) = nullptr;
    CUresult (*add_node)(CUgraphNode*, CUgraph, const CUgraphNode*, const CUgraphEdgeData*, std::size_t, CUgraphNodeParams*) = nullptr;
    CUresult (*current_context)(CUcontext*) = nullptr;
    bool complete() const { return create_condition && add_node && current_context; }
};
WhileFunctions resolve_while(void* library) {
    WhileFunctions found;
    found.create_condition = reinterpret_cast<decltype(found.create_condition)>(::dlsym(library, "cuGraphConditionalHandleCreate"));
    found.add_node = reinterpret_cast<decltype(found.add_node)>(::dlsym(library, "cuGraphAddNode_v2"));
    found.current_context = reinterpret_cast<decltype(found.current_context)>(::dlsym(library, "cuCtxGetCurrent"));
    return found;
}
#else
struct WhileFunctions {
    bool complete() const { return false; }
};
WhileFunctions resolve_while(void*) { return {}; }
#endif

#define TRIFOLD_STRING(text) #text
#define TRIFOLD_EXPANDED_STRING(macro) TRIFOLD_STRING(macro)

constexpr const char* advice =
    "install the NVIDIA driver (version 525 or newer, for CUDA 12) and see that nvidia-smi lists a device, or use the CPU";

/// The name of a function that the library lacks; empty when all are there.
std::string resolve(Functions& functions, void* library) {
    std::string missing;
    const auto find = [&](auto& function, const char* name) {
        function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
        if (function == nullptr) missing = name;
    };
#define TRIFOLD_RESOLVE(name) find(functions.name, TRIFOLD_EXPANDED_STRING(name));
    TRIFOLD_CUDA_FUNCTIONS(TRIFOLD_RESOLVE)
#undef TRIFOLD_RESOLVE
    return missing;
}

EventFunctions resolve_events(void* library) {
    EventFunctions events;
    const auto find = [&](auto& function, std::initializer_list<const char*> names) {
        for (const auto* name : names)
            if (function == nullptr) function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
    };
    find(events.create, {"cuEventCreate"});
    find(events.destroy, {"cuEventDestroy_v2", "cuEventDestroy"});
    find(events.record, {"cuEventRecord"});
    find(events.query, {"cuEventQuery"});
    find(events.elapsed, {"cuEventElapsedTime_v2", "cuEventElapsedTime"});
    find(events.exchange_mode, {"cuThreadExchangeStreamCaptureMode"});
    return events.complete() ? events : EventFunctions{};
}

std::string reason(const Functions& functions, CUresult result) {
    const char *name = nullptr, *text = nullptr;
    functions.cuGetErrorName(result, &name);
    functions.cuGetErrorString(result, &text);
    return fmt::format("{} ({})", name == nullptr ? "an unknown error" : name,
                       text == nullptr ? fmt::format("code {}", static_cast<int>(result)) : text);
}

CUdeviceptr address(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }
CUstream stream_of(void* stream) { return static_cast<CUstream>(stream); }

CUDA_KERNEL_NODE_PARAMS node_of(const KernelLaunch& grid) {
    CUDA_KERNEL_NODE_PARAMS node{};
    node.func = static_cast<CUfunction>(grid.function);
    node.gridDimX = grid.x;
    node.gridDimY = grid.y;
    node.gridDimZ = 1;
    node.blockDimX = grid.threads;
    node.blockDimY = node.blockDimZ = 1;
    node.sharedMemBytes = grid.shared_bytes;
    node.kernelParams = grid.arguments;
    return node;
}

/// Calls a driver function and checks its result.
#define TRIFOLD_CU(function, ...) check(functions_.function(__VA_ARGS__), #function)

class CudaDriver final : public Driver {
  public:
    CudaDriver(const Functions& functions, const EventFunctions& events, int version, AddEdges* add_programmatic,
               const WhileFunctions& while_functions)
        : functions_(functions), events_(events), add_programmatic_(add_programmatic), while_(while_functions), version_(version) {}
    Backend backend() const override { return Backend::cuda; }

    Report report() const override {
        Report result;
        result.driver = fmt::format("{}.{}", version_ / 1000, version_ % 1000 / 10);
        int count = 0;
        TRIFOLD_CU(cuDeviceGetCount, &count);
        for (int ordinal = 0; ordinal < count; ++ordinal) result.devices.push_back(describe_device(ordinal));
        if (count == 0)
            result.problem = fmt::format("the driver (CUDA {}) lists no device; check CUDA_VISIBLE_DEVICES and nvidia-smi", result.driver);
        return result;
    }

    void* retain(int ordinal) const override {
        CUcontext context = nullptr;
        TRIFOLD_CU(cuDevicePrimaryCtxRetain, &context, device(ordinal));
        return context;
    }
    void release(int ordinal) const noexcept override { functions_.cuDevicePrimaryCtxRelease(ordinal); }
    void* enter(int, void* context) const override {
        TRIFOLD_CU(cuCtxPushCurrent, static_cast<CUcontext>(context));
        return nullptr;  // the driver keeps a stack of them
    }
    void leave(void*) const noexcept override {
        CUcontext popped = nullptr;
        functions_.cuCtxPopCurrent(&popped);
    }
    void synchronize_device() const override { TRIFOLD_CU(cuCtxSynchronize); }

    int relax() const noexcept override {
        auto mode = CU_STREAM_CAPTURE_MODE_RELAXED;
        if (events_.complete()) events_.exchange_mode(&mode);
        return mode;
    }
    void restore(int old) const noexcept override {
        auto mode = static_cast<CUstreamCaptureMode>(old);
        if (events_.complete()) events_.exchange_mode(&mode);
    }

    std::string device_name(int ordinal) const override {
        std::array<char, 256> name{};
        TRIFOLD_CU(cuDeviceGetName, name.data(), static_cast<int>(name.size()), device(ordinal));
        return name.data();
    }
    long long most_shared_bytes(int ordinal) const override {
        return attribute(ordinal, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    }
    int multiprocessors(int ordinal) const override { return attribute(ordinal, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT); }
    bool reads_host_memory(int ordinal) const override { return attribute(ordinal, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS) != 0; }
    bool is_device_memory(const void* pointer) const override {
        unsigned type = 0;
        const auto result = functions_.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address(pointer));
        if (result != CUDA_ERROR_INVALID_VALUE) check(result, "cuPointerGetAttribute");
        return result == CUDA_SUCCESS;
    }

    void* load_module(const std::string& code, const std::string& device) const override {
        CUmodule module = nullptr;
        const auto result = functions_.cuModuleLoadData(&module, code.data());
        if (result == CUDA_ERROR_OUT_OF_MEMORY) check(result, "cuModuleLoadData");
        if (result != CUDA_SUCCESS)
            throw DeviceError(fmt::format("{} does not load the compiled kernels ({} bytes): cuModuleLoadData failed: {}", device,
                                          code.size(), reason(functions_, result)));
        return module;
    }
    void unload_module(void* module) const noexcept override { functions_.cuModuleUnload(static_cast<CUmodule>(module)); }
    void* find_function(void* module, const std::string& name) const override {
        CUfunction found = nullptr;
        const auto result = functions_.cuModuleGetFunction(&found, static_cast<CUmodule>(module), name.c_str());
        if (result == CUDA_ERROR_NOT_FOUND) return nullptr;
        check(result, "cuModuleGetFunction");
        return found;
    }
    Limits limits(void* function) const override {
        return {attribute_of(function, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
                attribute_of(function, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)};
    }
    void allow_shared(void* function, int bytes) const override {
        TRIFOLD_CU(cuFuncSetAttribute, static_cast<CUfunction>(function), CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes);
    }

    void* allocate(std::size_t bytes) const override {
        CUdeviceptr memory = 0;
        const auto result = functions_.cuMemAlloc(&memory, bytes);
        if (result == CUDA_ERROR_OUT_OF_MEMORY) return nullptr;
        check(result, "cuMemAlloc");
        return reinterpret_cast<void*>(memory);
    }
    void free(void* memory) const noexcept override { functions_.cuMemFree(address(memory)); }
    void memory_info(std::size_t& free, std::size_t& total) const override { TRIFOLD_CU(cuMemGetInfo, &free, &total); }
    void fill(void* memory, unsigned char byte, std::size_t bytes, void* stream) const override {
        TRIFOLD_CU(cuMemsetD8Async, address(memory), byte, bytes, stream_of(stream));
    }
    void copy_to_device(void* to, const void* from, std::size_t bytes, void* stream) const override {
        TRIFOLD_CU(cuMemcpyHtoDAsync, address(to), from, bytes, stream_of(stream));
    }
    void copy(void* to, const void* from, std::size_t bytes, void* stream) const override {
        TRIFOLD_CU(cuMemcpyDtoDAsync, address(to), address(from), bytes, stream_of(stream));
    }
    void copy_to_host(void* to, const void* from, std::size_t bytes, void* stream) const override {
        TRIFOLD_CU(cuMemcpyDtoHAsync, to, address(from), bytes, stream_of(stream));
    }

    void* create_stream() const override {
        CUstream stream = nullptr;
        TRIFOLD_CU(cuStreamCreate, &stream, static_cast<unsigned>(CU_STREAM_NON_BLOCKING));
        return stream;
    }
    void* create_urgent_stream() const override {
        CUstream stream = nullptr;
        TRIFOLD_CU(cuStreamCreateWithPriority, &stream, static_cast<unsigned>(CU_STREAM_NON_BLOCKING), most_urgent);
        return stream;
    }
    void destroy_stream(void* stream) const noexcept override { functions_.cuStreamDestroy(stream_of(stream)); }
    void synchronize_stream(void* stream) const override { TRIFOLD_CU(cuStreamSynchronize, stream_of(stream)); }
    bool is_done(void* stream) const override {
        const auto result = functions_.cuStreamQuery(stream_of(stream));
        if (result != CUDA_ERROR_NOT_READY) check(result, "cuStreamQuery");
        return result == CUDA_SUCCESS;
    }
    bool is_capturing(void* stream) const override {
        auto capture = CU_STREAM_CAPTURE_STATUS_NONE;
        TRIFOLD_CU(cuStreamIsCapturing, stream_of(stream), &capture);
        return capture != CU_STREAM_CAPTURE_STATUS_NONE;
    }
    int device_of(void* stream) const override {
        CUcontext owner = nullptr, popped = nullptr;
        TRIFOLD_CU(cuStreamGetCtx, stream_of(stream), &owner);
        TRIFOLD_CU(cuCtxPushCurrent, owner);
        CUdevice found = 0;
        const auto result = functions_.cuCtxGetDevice(&found);
        functions_.cuCtxPopCurrent(&popped);
        check(result, "cuCtxGetDevice");
        return found;
    }

    void* create_event() const noexcept override {
        CUevent event = nullptr;
        const bool made = events_.complete() && events_.create(&event, CU_EVENT_DEFAULT) == CUDA_SUCCESS;
        return made ? event : nullptr;
    }
    void destroy_event(void* event) const noexcept override {
        if (event != nullptr) events_.destroy(static_cast<CUevent>(event));
    }
    bool record(void* event, void* stream) const noexcept override {
        return events_.record(static_cast<CUevent>(event), stream_of(stream)) == CUDA_SUCCESS;
    }
    void wait_for(void* event, void* stream) const override {
        TRIFOLD_CU(cuStreamWaitEvent, stream_of(stream), static_cast<CUevent>(event), 0U);
    }
    std::optional<double> seconds_between(void* first, void* last) const noexcept override {
        // In the usual mode a query would spoil the graph that another thread is recording.
        auto mode = CU_STREAM_CAPTURE_MODE_RELAXED;
        if (events_.exchange_mode(&mode) != CUDA_SUCCESS) return std::nullopt;
        float milliseconds = 0;
        const bool ended = events_.query(static_cast<CUevent>(last)) == CUDA_SUCCESS &&
                           events_.elapsed(&milliseconds, static_cast<CUevent>(first), static_cast<CUevent>(last)) == CUDA_SUCCESS;
        events_.exchange_mode(&mode);
        return ended ? std::optional(1e-3 * milliseconds) : std::nullopt;
    }

    void launch(const KernelLaunch& grid, void* stream) const override {
        if (grid.together) {
            TRIFOLD_CU(cuLaunchCooperativeKernel, static_cast<CUfunction>(grid.function), grid.x, grid.y, 1U, grid.threads, 1U, 1U,
                       grid.shared_bytes, stream_of(stream), grid.arguments);
            return;
        }
        TRIFOLD_CU(cuLaunchKernel, static_cast<CUfunction>(grid.function), grid.x, grid.y, 1U, grid.threads, 1U, 1U, grid.shared_bytes,
                   stream_of(stream), grid.arguments, nullptr);
    }
    void begin_recording(void* stream) const override {
        TRIFOLD_CU(cuStreamBeginCapture, stream_of(stream), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    }
    void* end_recording(void* stream) const noexcept override {
        CUgraph graph = nullptr;
        return functions_.cuStreamEndCapture(stream_of(stream), &graph) == CUDA_SUCCESS ? graph : nullptr;
    }
    void* create_graph() const override {
        CUgraph graph = nullptr;
        TRIFOLD_CU(cuGraphCreate, &graph, 0U);
        return graph;
    }
    void destroy_graph(void* graph) const noexcept override { functions_.cuGraphDestroy(static_cast<CUgraph>(graph)); }
    void* add_kernel(void* graph, const std::vector<void*>& after, const KernelLaunch& grid, bool early) const override {
        std::vector<CUgraphNode> nodes;
        for (auto* node : after) nodes.push_back(static_cast<CUgraphNode>(node));
        const auto parameters = node_of(grid);
        CUgraphNode node = nullptr;
        const bool programmatic = early && add_programmatic_ != nullptr;
        TRIFOLD_CU(cuGraphAddKernelNode, &node, static_cast<CUgraph>(graph), nodes.data(), programmatic ? 0 : nodes.size(), &parameters);
        if (grid.together) {
            CUkernelNodeAttrValue value{};
            value.cooperative = 1;
            TRIFOLD_CU(cuGraphKernelNodeSetAttribute, node, CU_KERNEL_NODE_ATTRIBUTE_COOPERATIVE, &value);
        }
        for (auto* from : nodes)
            if (programmatic) add_edge(static_cast<CUgraph>(graph), from, node);
        return node;
    }
    bool can_repeat() const override { return while_.complete(); }
#if CUDA_VERSION >= 12040
    unsigned long long create_condition(void* graph) const override {
        CUgraphConditionalHandle handle = 0;
        check(while_.create_condition(&handle, static_cast<CUgraph>(graph), current_context(), 0, 0), "cuGraphConditionalHandleCreate");
        return handle;
    }
    While add_while(void* graph, const std::vector<void*>& after, unsigned long long condition) const override {
        std::vector<CUgraphNode> nodes;
        for (auto* node : after) nodes.push_back(static_cast<CUgraphNode>(node));
        CUgraphNodeParams parameters{};
        parameters.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
        parameters.conditional.handle = condition;
        parameters.conditional.type = CU_GRAPH_COND_TYPE_WHILE;
        parameters.conditional.size = 1;
        parameters.conditional.ctx = current_context();
        CUgraphNode node = nullptr;
        check(while_.add_node(&node, static_cast<CUgraph>(graph), nodes.data(), nullptr, nodes.size(), &parameters), "cuGraphAddNode");
        return {node, parameters.conditional.phGraph_out[0]};
    }
#else
    unsigned long long create_condition(void*) const override { return 0; }
    While add_while(void*, const std::vector<void*>&, unsigned long long) const override { return {}; }
#endif
    void* instantiate(void* graph) const override {
        CUgraphExec executable = nullptr;
        TRIFOLD_CU(cuGraphInstantiateWithFlags, &executable, static_cast<CUgraph>(graph), 0ULL);
        return executable;
    }
    void destroy_executable(void* executable) const noexcept override {
        functions_.cuGraphExecDestroy(static_cast<CUgraphExec>(executable));
    }
    void set_kernel(void* executable, void* node, const KernelLaunch& grid) const override {
        const auto parameters = node_of(grid);
        TRIFOLD_CU(cuGraphExecKernelNodeSetParams, static_cast<CUgraphExec>(executable), static_cast<CUgraphNode>(node), &parameters);
    }
    void upload(void* executable, void* stream) const override {
        TRIFOLD_CU(cuGraphUpload, static_cast<CUgraphExec>(executable), stream_of(stream));
    }
    void launch_graph(void* executable, void* stream) const override {
        TRIFOLD_CU(cuGraphLaunch, static_cast<CUgraphExec>(executable), stream_of(stream));
    }

  private:
    void check(CUresult result, const char* call) const {
        if (result == CUDA_SUCCESS) return;
        const auto text = fmt::format("{} failed: {}", call, reason(functions_, result));
        if (result == CUDA_ERROR_OUT_OF_MEMORY || result == CUDA_ERROR_NO_DEVICE || result == CUDA_ERROR_INVALID_DEVICE)
            throw DeviceError(text);
        throw LaunchError(text);
    }
    /// From when all thread blocks of a kernel have said so (start_dependents in templates/gpu/platform_cuda.cuh).
    void add_edge(CUgraph graph, CUgraphNode from, CUgraphNode to) const {
#if CUDA_VERSION >= 12030
        CUgraphEdgeData edge{};
        edge.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
        edge.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
        check(add_programmatic_(graph, &from, &to, &edge, 1), "cuGraphAddDependencies_v2");
#else
        (void)graph, (void)from, (void)to;
#endif
    }
#if CUDA_VERSION >= 12040
    CUcontext current_context() const {
        CUcontext context = nullptr;
        check(while_.current_context(&context), "cuCtxGetCurrent");
        return context;
    }
#endif
    CUdevice device(int ordinal) const {
        CUdevice result = 0;
        TRIFOLD_CU(cuDeviceGet, &result, ordinal);
        return result;
    }
    int attribute(int ordinal, CUdevice_attribute attribute) const {
        int value = 0;
        TRIFOLD_CU(cuDeviceGetAttribute, &value, attribute, device(ordinal));
        return value;
    }
    int attribute_of(void* function, CUfunction_attribute attribute) const {
        int value = 0;
        TRIFOLD_CU(cuFuncGetAttribute, &value, attribute, static_cast<CUfunction>(function));
        return value;
    }
    DeviceInfo describe_device(int ordinal) const {
        std::size_t memory = 0;
        TRIFOLD_CU(cuDeviceTotalMem, &memory, device(ordinal));
        const auto major = attribute(ordinal, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
        const auto minor = attribute(ordinal, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
        return {device_name(ordinal), fmt::format("sm_{}{}", major, minor), static_cast<std::int64_t>(memory)};
    }

    Functions functions_;
    EventFunctions events_;       // all or none
    AddEdges* add_programmatic_;  // null in older drivers
    WhileFunctions while_;        // all or none
    int version_;                 // newest CUDA version the driver serves: 1000 * major + 10 * minor
};

}  // namespace

Opened open_cuda() {
    // Never closed: static destructors of others may still call into it.
    void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return {nullptr, fmt::format("libcuda.so.1 was not found ({}); {}", ::dlerror(), advice)};
    Functions functions;
    if (const auto missing = resolve(functions, library); !missing.empty())
        return {nullptr, fmt::format("the driver in libcuda.so.1 is too old, it has no {}; {}", missing, advice)};
    if (const auto code = functions.cuInit(0); code != CUDA_SUCCESS)
        return {nullptr, fmt::format("the driver does not start: cuInit failed with {}; {}", reason(functions, code), advice)};
    int version = 0;
    functions.cuDriverGetVersion(&version);
    auto* add_edges = reinterpret_cast<AddEdges*>(::dlsym(library, "cuGraphAddDependencies_v2"));
    return {std::make_unique<CudaDriver>(functions, resolve_events(library), version, add_edges, resolve_while(library)), {}};
}

}  // namespace trifold::gpu

#else

trifold::gpu::Opened trifold::gpu::open_cuda() {
    return {nullptr, "this build has no CUDA support; build with -DTRIFOLD_CUDA=ON where cuda.h and nvrtc.h are found"};
}

#endif
