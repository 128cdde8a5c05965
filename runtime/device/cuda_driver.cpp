#include "runtime/device/gpu_driver.hpp"

#ifdef TRIFOLD_HAS_CUDA
#include <cuda.h>  // types only: the driver is opened at run time, so that the library loads where there is none

#include <array>

#include "runtime/device/driver_over.hpp"

namespace trifold::gpu {
namespace {

// clang-format off: it indents every line further
/// Everything used of the driver. cuda.h maps some names to versioned ones; the table follows it.
#define TRIFOLD_CUDA_FUNCTIONS(X) \
    X(init, cuInit) X(driver_version, cuDriverGetVersion) X(error_name, cuGetErrorName) X(error_text, cuGetErrorString) \
    X(get_device, cuDeviceGet) X(count_devices, cuDeviceGetCount) X(get_name, cuDeviceGetName) X(device_attribute, cuDeviceGetAttribute) \
    X(total_memory, cuDeviceTotalMem) X(retain, cuDevicePrimaryCtxRetain) X(release_context, cuDevicePrimaryCtxRelease) \
    X(push, cuCtxPushCurrent) X(pop, cuCtxPopCurrent) X(current_device, cuCtxGetDevice) X(synchronize_device, cuCtxSynchronize) \
    X(load_module, cuModuleLoadData) X(unload_module, cuModuleUnload) X(get_function, cuModuleGetFunction) \
    X(function_attribute, cuFuncGetAttribute) X(set_attribute, cuFuncSetAttribute) \
    X(allocate, cuMemAlloc) X(free, cuMemFree) X(memory_info, cuMemGetInfo) X(fill, cuMemsetD8Async) \
    X(copy_to_device, cuMemcpyHtoDAsync) X(copy_to_host, cuMemcpyDtoHAsync) X(copy, cuMemcpyDtoDAsync) \
    X(pointer_attribute, cuPointerGetAttribute) X(create_stream, cuStreamCreate) X(create_urgent_stream, cuStreamCreateWithPriority) \
    X(wait_for, cuStreamWaitEvent) X(destroy_stream, cuStreamDestroy) X(synchronize_stream, cuStreamSynchronize) \
    X(query_stream, cuStreamQuery) X(stream_context, cuStreamGetCtx) X(is_capturing, cuStreamIsCapturing) \
    X(begin_recording, cuStreamBeginCapture) X(end_recording, cuStreamEndCapture) X(create_graph, cuGraphCreate) \
    X(destroy_graph, cuGraphDestroy) X(add_kernel, cuGraphAddKernelNode) X(instantiate, cuGraphInstantiateWithFlags) \
    X(destroy_executable, cuGraphExecDestroy) X(set_kernel, cuGraphExecKernelNodeSetParams) X(upload, cuGraphUpload) \
    X(launch_graph, cuGraphLaunch) X(launch, cuLaunchKernel) X(launch_together, cuLaunchCooperativeKernel) \
    X(set_node_attribute, cuGraphKernelNodeSetAttribute)
/// Functions that measure.
#define TRIFOLD_CUDA_EVENTS(X) \
    X(create_event, cuEventCreate) X(destroy_event, cuEventDestroy) X(record, cuEventRecord) X(query_event, cuEventQuery) \
    X(elapsed, cuEventElapsedTime) X(exchange_mode, cuThreadExchangeStreamCaptureMode)
// clang-format on

struct Needed {
    TRIFOLD_SYMBOLS(TRIFOLD_CUDA_FUNCTIONS)
};
struct Events {
    TRIFOLD_SYMBOLS(TRIFOLD_CUDA_EVENTS)
};
struct Cuda : Needed, Events {
#if CUDA_VERSION >= 12030
    /// Adds edges with a meaning of their own, in drivers from CUDA 12.3 on.
    Symbol<CUresult(CUgraph, const CUgraphNode*, const CUgraphNode*, const CUgraphEdgeData*, std::size_t)> add_edges{
        "cuGraphAddDependencies_v2", "cuGraphAddDependencies_v2"};
#endif
#if CUDA_VERSION >= 12040
    // These make nodes that repeat a graph, in drivers from CUDA 12.4 on.
    Symbol<CUresult(CUgraphConditionalHandle*, CUgraph, CUcontext, unsigned, unsigned)> create_condition{"cuGraphConditionalHandleCreate",
                                                                                                         "cuGraphConditionalHandleCreate"};
    Symbol<CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, const CUgraphEdgeData*, std::size_t, CUgraphNodeParams*)> add_node{
        "cuGraphAddNode", "cuGraphAddNode_v2"};
    Symbol<CUresult(CUcontext*)> current_context{"cuCtxGetCurrent", "cuCtxGetCurrent"};
#endif
    bool has_events = false, has_edges = false, can_repeat = false;
    int version = 0;  // newest CUDA version the driver serves: 1000 * major + 10 * minor

    using Result = CUresult;
    using Module = CUmodule;
    using Function = CUfunction;
    using Address = CUdeviceptr;
    using Event = CUevent;
    using Graph = CUgraph;
    using Node = CUgraphNode;
    using CaptureMode = CUstreamCaptureMode;
    static constexpr auto backend = Backend::cuda;
    static constexpr auto success = CUDA_SUCCESS, out_of_memory = CUDA_ERROR_OUT_OF_MEMORY, lacks_device = CUDA_ERROR_NO_DEVICE,
                          invalid_device = CUDA_ERROR_INVALID_DEVICE, not_found = CUDA_ERROR_NOT_FOUND, not_ready = CUDA_ERROR_NOT_READY;
    static constexpr auto max_shared_bytes = CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
                          multiprocessors = CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
                          reads_host_memory = CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS;
    static constexpr auto max_threads = CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, own_shared_bytes = CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES;
    static constexpr auto relaxed = CU_STREAM_CAPTURE_MODE_RELAXED, thread_local_mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    static constexpr auto not_capturing = CU_STREAM_CAPTURE_STATUS_NONE;
    static constexpr unsigned non_blocking = CU_STREAM_NON_BLOCKING;
    static constexpr auto no_device = "the driver (CUDA {}) lists no device; check CUDA_VISIBLE_DEVICES and nvidia-smi";

    void find_newer([[maybe_unused]] void* library) {
#if CUDA_VERSION >= 12030
        has_edges = add_edges.find(library);
#endif
#if CUDA_VERSION >= 12040
        can_repeat = create_condition.find(library) && add_node.find(library) && current_context.find(library);
#endif
    }
    std::string release() const { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }
    std::string reason(CUresult result) const {
        const char *name = nullptr, *text = nullptr;
        error_name(result, &name);
        error_text(result, &text);
        return fmt::format("{} ({})", name == nullptr ? "an unknown error" : name,
                           text == nullptr ? fmt::format("code {}", static_cast<int>(result)) : text);
    }
    bool has_happened(void* event) const { return query_event(event) == CUDA_SUCCESS; }
    static CUDA_KERNEL_NODE_PARAMS node_of(const KernelLaunch& grid) {
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
};

class CudaDriver final : public DriverOver<Cuda> {
  public:
    using DriverOver::DriverOver;

    void* retain(int ordinal) const override { return made_by(api_.retain, device(ordinal)); }
    void release(int ordinal) const noexcept override { api_.release_context(ordinal); }
    void* enter(int, void* context) const override {
        call(api_.push, context);
        return nullptr;  // the driver keeps a stack of them
    }
    void leave(void*) const noexcept override {
        CUcontext popped = nullptr;
        api_.pop(&popped);
    }

    std::string device_name(int ordinal) const override {
        std::array<char, 256> name{};
        call(api_.get_name, name.data(), static_cast<int>(name.size()), device(ordinal));
        return name.data();
    }
    bool is_device_memory(const void* pointer) const override {
        unsigned type = 0;
        const auto result = api_.pointer_attribute(static_cast<void*>(&type), CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer);
        if (result != CUDA_ERROR_INVALID_VALUE) check(result, api_.pointer_attribute.name);
        return result == CUDA_SUCCESS;
    }
    void allow_shared(void* function, int bytes) const override {
        call(api_.set_attribute, function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes);
    }

    void copy_to_device(void* to, const void* from, std::size_t bytes, void* stream) const override {
        call(api_.copy_to_device, to, from, bytes, stream);
    }
    void copy(void* to, const void* from, std::size_t bytes, void* stream) const override { call(api_.copy, to, from, bytes, stream); }
    void copy_to_host(void* to, const void* from, std::size_t bytes, void* stream) const override {
        call(api_.copy_to_host, to, from, bytes, stream);
    }
    int device_of(void* stream) const override {
        CUcontext owner = nullptr;
        call(api_.stream_context, stream, &owner);
        enter(0, owner);
        CUdevice found = 0;
        const auto result = api_.current_device(&found);
        leave(nullptr);
        check(result, api_.current_device.name);
        return found;
    }

    void launch(const KernelLaunch& grid, void* stream) const override {
        if (!grid.together) return DriverOver::launch(grid, stream);
        call(api_.launch_together, grid.function, grid.x, grid.y, 1U, grid.threads, 1U, 1U, grid.shared_bytes, stream, grid.arguments);
    }
    void* add_kernel(void* graph, const std::vector<void*>& after, const KernelLaunch& grid, bool early) const override {
        const bool programmatic = early && api_.has_edges;
        void* node = DriverOver::add_kernel(graph, programmatic ? std::vector<void*>() : after, grid, early);
        if (grid.together) {
            CUkernelNodeAttrValue value{};
            value.cooperative = 1;
            call(api_.set_node_attribute, node, CU_KERNEL_NODE_ATTRIBUTE_COOPERATIVE, &value);
        }
        if (programmatic)
            for (auto* from : nodes_of(after)) add_edge(graph, from, static_cast<CUgraphNode>(node));
        return node;
    }
    bool can_repeat() const override { return api_.can_repeat; }
#if CUDA_VERSION >= 12040
    unsigned long long create_condition(void* graph) const override {
        return made_by(api_.create_condition, graph, made_by(api_.current_context), 0U, 0U);
    }
    While add_while(void* graph, const std::vector<void*>& after, unsigned long long condition) const override {
        const auto nodes = nodes_of(after);
        CUgraphNodeParams parameters{};
        parameters.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
        parameters.conditional.handle = condition;
        parameters.conditional.type = CU_GRAPH_COND_TYPE_WHILE;
        parameters.conditional.size = 1;
        parameters.conditional.ctx = made_by(api_.current_context);
        auto* node = made_by(api_.add_node, graph, nodes.data(), nullptr, nodes.size(), &parameters);
        return {node, parameters.conditional.phGraph_out[0]};
    }
#else
    unsigned long long create_condition(void*) const override { return 0; }
    While add_while(void*, const std::vector<void*>&, unsigned long long) const override { return {}; }
#endif
    void* instantiate(void* graph) const override { return made_by(api_.instantiate, graph, 0ULL); }
    void upload(void* executable, void* stream) const override { call(api_.upload, executable, stream); }

  private:
    int device_count() const override { return made_by(api_.count_devices); }
    DeviceInfo describe_device(int ordinal) const override {
        const auto memory = made_by(api_.total_memory, device(ordinal));
        const auto major = attribute(ordinal, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
        const auto minor = attribute(ordinal, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
        return {device_name(ordinal), fmt::format("sm_{}{}", major, minor), static_cast<std::int64_t>(memory)};
    }
    CUdevice device(int ordinal) const override { return made_by(api_.get_device, ordinal); }
    /// The launch begins when all thread blocks of the one before it have called start_dependents() of templates/gpu/platform_cuda.cuh.
    void add_edge(void* graph, CUgraphNode from, CUgraphNode to) const {
#if CUDA_VERSION >= 12030
        CUgraphEdgeData edge{};
        edge.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
        edge.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
        call(api_.add_edges, graph, &from, &to, &edge, std::size_t{1});
#else
        (void)graph, (void)from, (void)to;
#endif
    }
};

}  // namespace

Opened open_cuda() {
    constexpr auto advice =
        "install the NVIDIA driver (version 525 or newer, for CUDA 12) and see that nvidia-smi lists a device, or use the CPU";
    void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return {nullptr, fmt::format("libcuda.so.1 was not found ({}); {}", ::dlerror(), advice)};
    return open_in<Cuda, CudaDriver>(library, "the driver in libcuda.so.1", advice);
}

}  // namespace trifold::gpu

#else

trifold::gpu::Opened trifold::gpu::open_cuda() {
    return {nullptr, "this build has no CUDA support; build with -DTRIFOLD_CUDA=ON where cuda.h and nvrtc.h are found"};
}

#endif
