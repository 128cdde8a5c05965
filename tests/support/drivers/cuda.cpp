#include <cuda.h>
#include <dlfcn.h>
#include <elf.h>
#include <trifold/copy_args.h>
#include <trifold/grid_args.h>
#include <trifold/repeat_args.h>
#include <trifold/sparse_args.h>
#include <trifold/tridiagonal_args.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "tests/support/drivers/drivers.hpp"
#include "tests/support/emulator/runner.hpp"

using trifold::test::fake_cuda;

namespace trifold::test {

void FakeCuda::take_parameters_of(const Program& program) {
    parameters =
        takes_sizes_by_value(program) ? &parameters_of<KernelArgs, trifold_constants> : &parameters_of<trifold_args, trifold_constants>;
}

FakeCuda& fake_cuda() {
    static FakeCuda instance;
    return instance;
}

}  // namespace trifold::test

/// Parameters of the fake NVRTC's kernels, by the number that a unit has.
using trifold::test::Parameters, trifold::test::parameters_of;
const Parameters* const parameters_of_units[]{
    &parameters_of<trifold_args, trifold_constants>, &parameters_of<trifold::KernelArgs, trifold_constants>,
    &parameters_of<trifold_sparse_args, trifold_sparse_launch>, &parameters_of<trifold_grid_args, trifold_grid_launch>};

struct CUctx_st {};
struct CUmod_st {
    std::shared_ptr<void> unit;              ///< of an image that is one of the fake NVRTC's; else kernels are those that the test gave
    const Parameters* parameters = nullptr;  ///< that image's
};
struct CUevent_st {};
struct CUfunc_st {
    void* entry;
    ::Emulator* emulator;
    const Parameters* parameters = nullptr;  ///< null: as the test says
    const Parameters& usual() const { return parameters != nullptr ? *parameters : *fake_cuda().parameters; }
    int shared_limit = 48 * 1024;
    bool decides = false;  ///< it is the kernel that decides about another turn, of any family
    bool copies = false;   ///< it is the one that copies, likewise
};
struct CUstream_st {
    bool capturing = false;
    CUgraph recorded = nullptr;  ///< what is enqueued is put here
};
struct Grid {
    CUfunction function;
    unsigned x, y, threads, shared;
    std::string operand, constants;
};
struct CUgraphNode_st {
    Grid grid;
    std::vector<CUgraphNode> after;
    CUgraph body = nullptr;           ///< of a node that repeats it
    const bool* condition = nullptr;  ///< likewise
};
struct CUgraph_st {
    std::vector<CUgraphNode> nodes;
    std::list<bool> conditions;
    std::vector<std::function<int()>> recorded;  ///< instead of nodes
};
struct CUgraphExec_st {
    CUgraph graph;
    std::map<CUgraphNode, Grid> grids;
};

namespace {

CUctx_st primary;
thread_local std::vector<CUcontext> stack;
std::recursive_mutex one_at_a_time;  // ranks are threads
std::map<CUdeviceptr, std::size_t> memory;
std::map<std::pair<CUmodule, std::string>, CUfunc_st> functions;
::Emulator emulator;        // runs the fake NVRTC's units
bool is_recording = false;  // a graph of the caller's, on some stream
thread_local auto capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

/// A step that is recorded ends without the lock, since ranks wait for one another in graphs.
CUresult later(CUstream stream, std::function<CUresult()> step) {
    stream->recorded->recorded.emplace_back([step = std::move(step)] {
        const std::scoped_lock lock(one_at_a_time);
        return static_cast<int>(step());
    });
    return CUDA_SUCCESS;
}
bool records(CUstream stream) { return stream != nullptr && stream->recorded != nullptr; }

CUresult enter(const char* call) {
    if (fake_cuda().failing_call == call) return CUDA_ERROR_UNKNOWN;
    return stack.empty() || stack.back() != &primary ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}
#define ENTER                                            \
    const std::scoped_lock entered_alone(one_at_a_time); \
    if (const auto entered = enter(__func__); entered != CUDA_SUCCESS) return entered

/// Notes work on a stream. Here it is done at once, but a device would do it later, at the same time as that of other streams.
void begin_on(CUstream stream) {
    auto& at_work = fake_cuda().streams_at_work;
    at_work.insert(stream);
    if (at_work.size() > 1) ++fake_cuda().overtakes;
}

/// The fake NVRTC's shared library, of which each call loads a copy; null where the image is another.
std::shared_ptr<void> load(const void* image) {
    const auto* const head = static_cast<const Elf64_Ehdr*>(image);
    if (std::memcmp(head->e_ident, ELFMAG, SELFMAG) != 0) return nullptr;
    const auto bytes = head->e_shoff + std::size_t{head->e_shnum} * head->e_shentsize;  // the table of sections comes last
    std::string path = "/tmp/trifold-unit-XXXXXX";
    const int file = mkstemp(path.data());
    const bool is_written = write(file, image, bytes) == static_cast<ssize_t>(bytes);
    close(file);
    void* const library = is_written ? dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
    unlink(path.c_str());
    return {library, [](void* loaded) {
                if (loaded != nullptr) dlclose(loaded);
            }};
}

void call_repeat(void* entry, const void* operand, const void*) {
    reinterpret_cast<void (*)(trifold_repeat_args)>(entry)(*static_cast<const trifold_repeat_args*>(operand));
}

void call_copy(void* entry, const void* operand, const void*) {
    reinterpret_cast<void (*)(trifold_copy_args)>(entry)(*static_cast<const trifold_copy_args*>(operand));
}

CUresult run(const Grid& grid) {
    if (grid.shared > static_cast<unsigned>(grid.function->shared_limit) || grid.x == 0 || grid.y == 0 || grid.y > 65535)
        return CUDA_ERROR_INVALID_VALUE;
    auto* const call = grid.function->decides ? call_repeat : grid.function->copies ? call_copy : grid.function->usual().call;
    trifold::test::run_grid(*grid.function->emulator, [&] { call(grid.function->entry, grid.operand.data(), grid.constants.data()); },
                            {grid.x, grid.y, static_cast<int>(grid.threads), 32, grid.shared});
    return CUDA_SUCCESS;
}

Grid grid_of(const CUDA_KERNEL_NODE_PARAMS& node) {
    const auto bytes = [](const void* from, std::size_t size) { return std::string(static_cast<const char*>(from), size); };
    const auto& usual = node.func->usual();
    const bool is_own = node.func->decides || node.func->copies;
    const auto operand = node.func->decides  ? sizeof(trifold_repeat_args)
                         : node.func->copies ? sizeof(trifold_copy_args)
                                             : usual.operand_bytes;
    Grid grid{node.func,
              node.gridDimX,
              node.gridDimY,
              node.blockDimX,
              node.sharedMemBytes,
              bytes(node.kernelParams[0], operand),
              is_own ? "" : bytes(node.kernelParams[1], usual.constants_bytes)};
    return grid;
}

void destroy(CUgraph graph) {
    for (auto* node : graph->nodes) {
        if (node->body != nullptr) destroy(node->body);
        delete node;
    }
    delete graph;
}

void add_grids(CUgraphExec_st& executable, CUgraph graph) {
    for (auto* node : graph->nodes) {
        if (node->body != nullptr)
            add_grids(executable, node->body);
        else
            executable.grids.emplace(node, node->grid);
    }
}

/// Runs the nodes in a random order that their dependencies allow, so that a missing one shows.
CUresult run_graph(const CUgraphExec_st& executable, const CUgraph_st& graph) {
    static std::mt19937 random(1);
    auto waiting = graph.nodes;
    std::set<CUgraphNode> done;
    while (!waiting.empty()) {
        std::shuffle(waiting.begin(), waiting.end(), random);
        const auto ready = std::ranges::find_if(
            waiting, [&](auto* node) { return std::ranges::all_of(node->after, [&](auto* n) { return done.contains(n); }); });
        auto* node = *ready;
        auto result = CUDA_SUCCESS;
        if (node->body == nullptr) result = run(executable.grids.at(node));
        while (node->body != nullptr && result == CUDA_SUCCESS && *node->condition) result = run_graph(executable, *node->body);
        if (result != CUDA_SUCCESS) return result;
        done.insert(node);
        waiting.erase(ready);
    }
    return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult cuInit(unsigned) { return CUDA_SUCCESS; }
CUresult cuDriverGetVersion(int* version) { return *version = 13000, CUDA_SUCCESS; }
CUresult cuGetErrorName(CUresult, const char** text) { return *text = "CUDA_ERROR_FAKE", CUDA_SUCCESS; }
CUresult cuGetErrorString(CUresult, const char** text) { return *text = "as the test asked", CUDA_SUCCESS; }
CUresult cuDeviceGet(CUdevice* device, int ordinal) { return *device = ordinal, CUDA_SUCCESS; }
CUresult cuDeviceGetCount(int* count) { return *count = 1, CUDA_SUCCESS; }
CUresult cuDeviceGetName(char* name, int size, CUdevice) {
    return std::strncpy(name, "Fake", static_cast<std::size_t>(size)), CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem(std::size_t* bytes, CUdevice) {
    return *bytes = static_cast<std::size_t>(fake_cuda().memory_bytes), CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
    const std::map<CUdevice_attribute, int> values{{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, fake_cuda().capability / 10},
                                                   {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, fake_cuda().capability % 10},
                                                   {CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, 0},
                                                   {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 132},
                                                   {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 227 * 1024}};
    return *value = values.at(attribute), CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) {
    const std::scoped_lock lock(one_at_a_time);
    return ++fake_cuda().contexts, *context = &primary, CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease(CUdevice) {
    const std::scoped_lock lock(one_at_a_time);
    return --fake_cuda().contexts, CUDA_SUCCESS;
}
CUresult cuCtxPushCurrent(CUcontext context) { return stack.push_back(context), CUDA_SUCCESS; }
CUresult cuCtxPopCurrent(CUcontext* context) {
    if (stack.empty()) return CUDA_ERROR_INVALID_CONTEXT;
    return *context = stack.back(), stack.pop_back(), CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext context) { return stack.assign(1, context), CUDA_SUCCESS; }
CUresult cuCtxGetCurrent(CUcontext* context) { return *context = stack.empty() ? nullptr : stack.back(), CUDA_SUCCESS; }
CUresult cuCtxGetDevice(CUdevice* device) { return *device = 0, CUDA_SUCCESS; }
CUresult cuCtxSynchronize() {
    ENTER;
    ++fake_cuda().synchronizations;
    fake_cuda().streams_at_work.clear();
    return CUDA_SUCCESS;
}

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
    ENTER;
    *module = new CUmod_st{load(image)};
    if (auto* const unit = (*module)->unit.get(); unit != nullptr) {
        *static_cast<Emulator**>(dlsym(unit, "emulator")) = &emulator;
        (*module)->parameters = parameters_of_units[*static_cast<const int*>(dlsym(unit, "parameters"))];
    }
    return ++fake_cuda().modules, CUDA_SUCCESS;
}
CUresult cuModuleUnload(CUmodule module) {
    ENTER;
    std::erase_if(functions, [&](const auto& known) { return known.first.first == module; });
    return --fake_cuda().modules, delete module, CUDA_SUCCESS;
}
CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
    ENTER;
    auto all = fake_cuda().kernels;
    if (module->unit != nullptr) all.assign(1, module->unit.get());
    for (void* kernels : all) {
        auto* entry = dlsym(kernels, name);
        if (entry == nullptr) continue;
        auto& found = functions[{module, name}];
        found.entry = entry;
        found.copies = std::string_view(name) == "trifold_copy";
        found.decides = std::string_view(name) == "trifold_repeat";
        found.emulator = *static_cast<Emulator**>(dlsym(kernels, "emulator"));
        found.parameters = module->parameters;
        return *function = &found, CUDA_SUCCESS;
    }
    return CUDA_ERROR_NOT_FOUND;
}
CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction) {
    return *value = attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024 : 0, CUDA_SUCCESS;
}
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute, int value) { return function->shared_limit = value, CUDA_SUCCESS; }

CUresult cuMemAlloc(CUdeviceptr* pointer, std::size_t bytes) {
    ENTER;
    if (static_cast<std::int64_t>(bytes) > fake_cuda().memory_bytes) return CUDA_ERROR_OUT_OF_MEMORY;
    *pointer = reinterpret_cast<CUdeviceptr>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
    memory[*pointer] = bytes;
    return ++fake_cuda().allocations, ++fake_cuda().device_allocations, CUDA_SUCCESS;
}
CUresult cuMemFree(CUdeviceptr pointer) {
    ENTER;
    if (memory.erase(pointer) == 0) return CUDA_ERROR_INVALID_VALUE;
    return --fake_cuda().allocations, std::free(reinterpret_cast<void*>(pointer)), CUDA_SUCCESS;
}
CUresult cuMemGetInfo(std::size_t* free, std::size_t* total) {
    return *free = *total = static_cast<std::size_t>(fake_cuda().memory_bytes), CUDA_SUCCESS;
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t bytes, CUstream stream) {
    ENTER;
    begin_on(stream);
    return std::memset(reinterpret_cast<void*>(to), value, bytes), CUDA_SUCCESS;
}
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream) {
    ENTER;
    begin_on(stream);
    return std::memcpy(reinterpret_cast<void*>(to), from, bytes), CUDA_SUCCESS;
}
CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
    ENTER;
    if (records(stream))
        return later(stream,
                     [=] { return std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes), CUDA_SUCCESS; });
    begin_on(stream);
    return std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes), CUDA_SUCCESS;
}
CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
    ENTER;
    begin_on(stream);
    return std::memcpy(to, reinterpret_cast<const void*>(from), bytes), CUDA_SUCCESS;
}
CUresult cuPointerGetAttribute(void* value, CUpointer_attribute, CUdeviceptr pointer) {
    ENTER;
    const auto above = memory.upper_bound(pointer);
    if (above == memory.begin() || std::prev(above)->first + std::prev(above)->second <= pointer) return CUDA_ERROR_INVALID_VALUE;
    return *static_cast<unsigned*>(value) = CU_MEMORYTYPE_DEVICE, CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream* stream, unsigned) {
    ENTER;
    return ++fake_cuda().streams, *stream = new CUstream_st, CUDA_SUCCESS;
}
CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int) { return cuStreamCreate(stream, flags); }
CUresult cuStreamWaitEvent(CUstream, CUevent, unsigned) {
    ENTER;
    return ++fake_cuda().stream_waits, CUDA_SUCCESS;
}
CUresult cuStreamDestroy(CUstream stream) {
    ENTER;
    if (stream->capturing) is_recording = false;
    fake_cuda().streams_at_work.erase(stream);
    return --fake_cuda().streams, delete stream, CUDA_SUCCESS;
}
CUresult cuStreamSynchronize(CUstream stream) {
    ENTER;
    ++fake_cuda().synchronizations;
    fake_cuda().streams_at_work.erase(stream);
    return stream != nullptr && stream->capturing ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}
CUresult cuStreamQuery(CUstream stream) {
    ENTER;
    if (fake_cuda().streams_never_end) return CUDA_ERROR_NOT_READY;
    fake_cuda().streams_at_work.erase(stream);
    return CUDA_SUCCESS;
}
CUresult cuStreamGetCtx(CUstream, CUcontext* context) {
    ENTER;
    return *context = &primary, CUDA_SUCCESS;
}
CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
    ENTER;
    return *status = stream != nullptr && stream->capturing ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE, CUDA_SUCCESS;
}
CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode) {
    const std::scoped_lock lock(one_at_a_time);
    if (mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) return ++fake_cuda().graphs, stream->recorded = new CUgraph_st, CUDA_SUCCESS;
    return is_recording = stream->capturing = true, CUDA_SUCCESS;
}
CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
    const std::scoped_lock lock(one_at_a_time);
    *graph = std::exchange(stream->recorded, nullptr);
    if (!fake_cuda().refuses_records) return CUDA_SUCCESS;
    cuGraphDestroy(*graph);
    return *graph = nullptr, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
}
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) { return std::swap(*mode, capture_mode), CUDA_SUCCESS; }

CUresult cuEventCreate(CUevent* event, unsigned) {
    ENTER;
    return ++fake_cuda().events, *event = new CUevent_st, CUDA_SUCCESS;
}
CUresult cuEventDestroy(CUevent event) {
    ENTER;
    return --fake_cuda().events, delete event, CUDA_SUCCESS;
}
CUresult cuEventRecord(CUevent, CUstream stream) {
    ENTER;
    if (stream != nullptr && stream->capturing) ++fake_cuda().disturbances;
    return ++fake_cuda().event_records, CUDA_SUCCESS;
}
CUresult cuEventSynchronize(CUevent) {
    ENTER;
    return ++fake_cuda().synchronizations, CUDA_SUCCESS;
}
CUresult cuEventQuery(CUevent) {
    ENTER;
    if (is_recording && capture_mode != CU_STREAM_CAPTURE_MODE_RELAXED) ++fake_cuda().disturbances;
    return ++fake_cuda().event_queries, fake_cuda().events_pending ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}
CUresult cuEventElapsedTime(float* milliseconds, CUevent, CUevent) {
    ENTER;
    return *milliseconds = 1, fake_cuda().events_pending ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

CUresult cuGraphCreate(CUgraph* graph, unsigned) {
    ENTER;
    return ++fake_cuda().graphs, *graph = new CUgraph_st, CUDA_SUCCESS;
}
CUresult cuGraphDestroy(CUgraph graph) {
    destroy(graph);
    return --fake_cuda().graphs, CUDA_SUCCESS;
}
CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle* handle, CUgraph graph, CUcontext context, unsigned value, unsigned) {
    ENTER;
    if (context != &primary) return CUDA_ERROR_INVALID_CONTEXT;
    graph->conditions.push_back(value != 0);
    return *handle = reinterpret_cast<CUgraphConditionalHandle>(&graph->conditions.back()), CUDA_SUCCESS;
}
CUresult cuGraphAddNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, const CUgraphEdgeData*, std::size_t count,
                           CUgraphNodeParams* parameters) {
    ENTER;
    auto& conditional = parameters->conditional;
    if (parameters->type != CU_GRAPH_NODE_TYPE_CONDITIONAL || conditional.type != CU_GRAPH_COND_TYPE_WHILE || conditional.size != 1 ||
        conditional.ctx != &primary)
        return CUDA_ERROR_INVALID_VALUE;
    *node = new CUgraphNode_st{{}, {after, after + count}, new CUgraph_st, reinterpret_cast<const bool*>(conditional.handle)};
    conditional.phGraph_out = &(*node)->body;
    return graph->nodes.push_back(*node), CUDA_SUCCESS;
}
CUresult cuGraphAddKernelNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, std::size_t count,
                              const CUDA_KERNEL_NODE_PARAMS* parameters) {
    ENTER;
    for (std::size_t k = 0; k < count; ++k) {
        if (std::ranges::find(graph->nodes, after[k]) == graph->nodes.end()) return CUDA_ERROR_INVALID_VALUE;
    }
    *node = new CUgraphNode_st{grid_of(*parameters), {after, after + count}};
    return graph->nodes.push_back(*node), CUDA_SUCCESS;
}
/// Grids run one after another here, and all thread blocks of one that is to be at work together must be alive.
CUresult cuGraphKernelNodeSetAttribute(CUgraphNode, CUkernelNodeAttrID, const CUkernelNodeAttrValue*) { return CUDA_SUCCESS; }
/// A node that may start early runs after those before it here, as grids run one after another.
CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, const CUgraphEdgeData* data,
                                   std::size_t count) {
    ENTER;
    for (std::size_t k = 0; k < count; ++k) {
        const bool known = std::ranges::count(graph->nodes, from[k]) == 1 && std::ranges::count(graph->nodes, to[k]) == 1;
        if (!known || data[k].type != CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC || data[k].from_port != CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC)
            return CUDA_ERROR_INVALID_VALUE;
        to[k]->after.push_back(from[k]);
        ++fake_cuda().early_edges;
    }
    return CUDA_SUCCESS;
}
CUresult cuGraphInstantiateWithFlags(CUgraphExec* executable, CUgraph graph, unsigned long long) {
    ENTER;
    *executable = new CUgraphExec_st{graph, {}};
    add_grids(**executable, graph);
    return ++fake_cuda().executables, CUDA_SUCCESS;
}
CUresult cuGraphExecDestroy(CUgraphExec executable) { return --fake_cuda().executables, delete executable, CUDA_SUCCESS; }
CUresult cuGraphExecKernelNodeSetParams(CUgraphExec executable, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* parameters) {
    ENTER;
    const bool is_outer = std::ranges::count(executable->graph->nodes, node) == 1;
    const auto found = executable->grids.find(node);
    if (!is_outer || found == executable->grids.end() || found->second.function != parameters->func) return CUDA_ERROR_INVALID_VALUE;
    return ++fake_cuda().node_updates, found->second = grid_of(*parameters), CUDA_SUCCESS;
}
CUresult cuGraphUpload(CUgraphExec, CUstream) {
    ENTER;
    return CUDA_SUCCESS;
}
CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream) {
    if (!executable->graph->recorded.empty()) {
        {
            ENTER;
            ++fake_cuda().record_launches;
        }
        for (const auto& step : executable->graph->recorded)
            if (step() != 0) return CUDA_ERROR_UNKNOWN;
        return CUDA_SUCCESS;
    }
    ENTER;
    if (stream != nullptr && stream->capturing) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    begin_on(stream);
    ++fake_cuda().graph_launches;
    return run_graph(*executable, *executable->graph);
}
CUresult cuLaunchKernel(CUfunction function, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned, unsigned, unsigned shared,
                        CUstream stream, void** arguments, void**) {
    return cuLaunchCooperativeKernel(function, x, y, z, threads, 1U, 1U, shared, stream, arguments);
}
CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned x, unsigned y, unsigned, unsigned threads, unsigned, unsigned,
                                   unsigned shared, CUstream stream, void** arguments) {
    ENTER;
    begin_on(stream);
    CUDA_KERNEL_NODE_PARAMS node{};
    node.func = function;
    node.gridDimX = x;
    node.gridDimY = y;
    node.blockDimX = threads;
    node.sharedMemBytes = shared;
    node.kernelParams = arguments;
    if (records(stream)) return later(stream, [grid = grid_of(node)] { return run(grid); });
    ++fake_cuda().kernel_launches;
    return run(grid_of(node));
}

}  // extern "C"

bool trifold::test::record_step(void* stream, std::function<int()> step) {
    const std::scoped_lock lock(one_at_a_time);
    auto* const given = static_cast<CUstream>(stream);
    if (!records(given)) return false;
    given->recorded->recorded.push_back(std::move(step));
    return true;
}
