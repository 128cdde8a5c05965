#ifdef TRIFOLD_HAS_CUDA
#include <fmt/format.h>

#include <array>
#include <cstring>
#include <map>
#include <optional>

#include "generator/error.hpp"
#include "runtime/cuda.hpp"
#include "runtime/cuda_graph.hpp"
#include "runtime/cuda_module.hpp"
#include "runtime/error.hpp"
#include "runtime/switches.hpp"

namespace trifold::cuda {
namespace {

CUdeviceptr address(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

/// Device memory of the current context, which must be current again when it is freed.
class Memory {
  public:
    Memory(std::int64_t bytes, CUdevice device, std::string_view purpose) : bytes_(bytes) {
        const auto result = driver().cuMemAlloc(&address_, static_cast<std::size_t>(bytes));
        if (result != CUDA_ERROR_OUT_OF_MEMORY) {
            check(result, "cuMemAlloc");
            return;
        }
        std::size_t free = 0, total = 0;
        TRIFOLD_CU(cuMemGetInfo, &free, &total);
        throw DeviceError(
            fmt::format("{} needs {} bytes of device memory; {} has {} free of {}. Free some, or give a smaller horizon or batch", purpose,
                        bytes, device_name(device), free, total));
    }
    ~Memory() { driver().cuMemFree(address_); }
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    void* get() const { return reinterpret_cast<void*>(address_); }
    std::int64_t bytes() const { return bytes_; }

  private:
    CUdeviceptr address_ = 0;
    std::int64_t bytes_;
};

class OwnStream {
  public:
    OwnStream() { TRIFOLD_CU(cuStreamCreate, &stream_, static_cast<unsigned>(CU_STREAM_NON_BLOCKING)); }
    ~OwnStream() { driver().cuStreamDestroy(stream_); }
    OwnStream(const OwnStream&) = delete;
    OwnStream& operator=(const OwnStream&) = delete;
    CUstream get() const { return stream_; }

  private:
    CUstream stream_ = nullptr;
};

/// Everything that must be freed with the context current.
struct Resources {
    Resources(const Plan::State& plan, void* workspace, CUdevice device);
    OwnStream stream;
    std::optional<Memory> workspace;
    std::map<Operation, Graph> graphs;
    std::array<std::optional<Memory>, array_count> staging;
};

trifold_args first_args(const Program& program, void* workspace) {
    Call call{Operation::factor};
    resolve(program.spec, call);
    return panel_args(program.spec, call, 0, program.spec.rhs, workspace);
}

Resources::Resources(const Plan::State& plan, void* given, CUdevice device) {
    const auto& program = plan.program;
    if (given == nullptr) workspace.emplace(program.workspace_bytes, device, "the workspace");
    void* memory = given == nullptr ? workspace->get() : given;
    TRIFOLD_CU(cuMemsetD8Async, address(memory), static_cast<unsigned char>(0xff), static_cast<std::size_t>(program.workspace_bytes),
               stream.get());
    for (const auto operation : program.spec.operations) {
        const auto& [_, graph] = *graphs.try_emplace(operation, plan, operation, first_args(program, memory)).first;
        graph.upload(stream.get());
    }
    TRIFOLD_CU(cuStreamSynchronize, stream.get());
}

class CudaEngine final : public Engine {
  public:
    CudaEngine(std::shared_ptr<const Plan::State> plan, void* workspace)
        : plan_(std::move(plan)),
          context_(static_cast<const Module*>(plan_->module.get())->context()),
          sees_host_memory_(device_attribute(context_.device(), CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS) != 0),
          as_graph_(!disabled("graph")) {
        const Current current(context_.get());
        if (workspace != nullptr) check_pointer(workspace, "the workspace");
        resources_.emplace(*plan_, workspace, context_.device());
        workspace_ = workspace == nullptr ? resources_->workspace->get() : workspace;
        last_ = known_ = resources_->stream.get();
    }

    ~CudaEngine() override {
        const auto& functions = driver();
        CUcontext popped = nullptr;
        if (functions.cuCtxPushCurrent(context_.get()) != CUDA_SUCCESS) return;  // the driver has shut down and freed everything
        functions.cuCtxSynchronize();                                            // work in flight uses the workspace and the Plan's code
        resources_.reset();
        functions.cuCtxPopCurrent(&popped);
    }

    void run(Operation operation, const trifold_args& args, Stream stream) override {
        const Current current(context_.get());
        const auto handle = static_cast<CUstream>(stream.handle);
        auto& graph = resources_->graphs.at(operation);
        check_stream(handle);
        check_pointers(args);
        auto capture = CU_STREAM_CAPTURE_STATUS_NONE;
        TRIFOLD_CU(cuStreamIsCapturing, handle, &capture);
        if (capture != CU_STREAM_CAPTURE_STATUS_NONE) captured_ = true;
        if (capture == CU_STREAM_CAPTURE_STATUS_NONE && as_graph_)
            graph.launch(args, handle);
        else
            graph.enqueue(args, handle);
        last_ = handle;
    }

    void synchronize() override {
        const Current current(context_.get());
        // What was captured is replayed by the caller, on streams this does not know.
        if (captured_)
            TRIFOLD_CU(cuCtxSynchronize);
        else
            TRIFOLD_CU(cuStreamSynchronize, last_);
    }

    void read(void* host, std::int64_t offset, std::int64_t bytes) override {
        download(host, static_cast<const char*>(workspace_) + offset, bytes);
        const Current current(context_.get());
        TRIFOLD_CU(cuStreamSynchronize, resources_->stream.get());
    }

    void set_executor(Executor) override {
        throw SpecError("an executor replaces the threads of a CPU Plan; this one runs on " + plan_->device.name());
    }
    Stream host_stream() const override { return {resources_->stream.get()}; }

    void* device_array(Array array, const void*, std::int64_t bytes) override {
        const Current current(context_.get());
        auto& memory = resources_->staging[static_cast<std::size_t>(array)];
        if (!memory || memory->bytes() < bytes) {
            memory.reset();
            memory.emplace(bytes, context_.device(), fmt::format("the device's copy of {}", trifold::to_string(array)));
        }
        return memory->get();
    }
    void upload(void* device, const void* host, std::int64_t bytes) override {
        const Current current(context_.get());
        TRIFOLD_CU(cuMemcpyHtoDAsync, address(device), host, static_cast<std::size_t>(bytes), resources_->stream.get());
    }
    void download(void* host, const void* device, std::int64_t bytes) override {
        const Current current(context_.get());
        TRIFOLD_CU(cuMemcpyDtoHAsync, host, address(device), static_cast<std::size_t>(bytes), resources_->stream.get());
    }

  private:
    /// A stream seen for the first time must be one of this device.
    void check_stream(CUstream stream) {
        if (stream == known_) return;
        CUcontext owner = nullptr;
        TRIFOLD_CU(cuStreamGetCtx, stream, &owner);
        if (owner != context_.get()) {
            const Current current(owner);
            CUdevice device = 0;
            TRIFOLD_CU(cuCtxGetDevice, &device);
            if (device != context_.device())
                throw SpecError(fmt::format("the stream belongs to {}, and the Plan was made for {} (cuda:{})", device_name(device),
                                            plan_->device.name(), plan_->device.ordinal()));
        }
        known_ = stream;
    }

    /// Host memory that the device cannot read would end the context with an illegal address.
    void check_pointer(const void* pointer, std::string_view what) const {
        if (pointer == nullptr || sees_host_memory_) return;
        unsigned type = 0;
        const auto result = driver().cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address(pointer));
        if (result == CUDA_ERROR_INVALID_VALUE)
            throw SpecError(fmt::format("{} is not memory that {} can read; give device memory, or use the span overloads", what,
                                        plan_->device.name()));
        check(result, "cuPointerGetAttribute");
    }

    void check_pointers(const trifold_args& args) {
        if (std::memcmp(&args, &checked_, sizeof args) == 0) return;
        check_pointer(args.d, "D");
        check_pointer(args.e, "E");
        check_pointer(args.b, "B");
        check_pointer(args.x, "X");
        check_pointer(args.diagonal, "the added diagonal");
        check_pointer(args.shift, "shift");
        check_pointer(args.active, "active");
        check_pointer(args.inverse_diagonal, "the inverse's diagonal");
        check_pointer(args.inverse_coupling, "the inverse's coupling");
        checked_ = args;
    }

    std::shared_ptr<const Plan::State> plan_;
    const Context& context_;
    bool sees_host_memory_, as_graph_;
    bool captured_ = false;     // a call was recorded into a graph of the caller's
    CUstream last_ = nullptr;   // of the last call
    CUstream known_ = nullptr;  // the last stream found to be of this device
    trifold_args checked_{};    // pointers found to be readable
    std::optional<Resources> resources_;
};

}  // namespace

std::unique_ptr<Engine> make_engine(std::shared_ptr<const Plan::State> plan, void* workspace) {
    return std::make_unique<CudaEngine>(std::move(plan), workspace);
}

}  // namespace trifold::cuda
#endif
