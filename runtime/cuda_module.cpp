#ifdef TRIFOLD_HAS_CUDA
#include "runtime/cuda_module.hpp"

#include <fmt/format.h>

#include <limits>

#include "generator/error.hpp"
#include "runtime/cuda.hpp"
#include "runtime/error.hpp"

namespace trifold::cuda {
namespace {

int function_attribute(CUfunction function, CUfunction_attribute attribute) {
    int value = 0;
    TRIFOLD_CU(cuFuncGetAttribute, &value, attribute, function);
    return value;
}

/// Throws DeviceError when the device cannot hold one thread block of the kernel.
void check_block(const Kernel& kernel, CUfunction function, CUdevice device) {
    const auto most_threads = function_attribute(function, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    if (kernel.shape.threads > most_threads)
        throw DeviceError(fmt::format("{} needs {} threads a block and its registers allow {} on {}; give another variant", kernel.name,
                                      kernel.shape.threads, most_threads, device_name(device)));
    const auto shared = kernel.shape.shared_bytes + function_attribute(function, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
    const auto most_shared = device_attribute(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    if (shared > most_shared)
        throw DeviceError(fmt::format("{} needs {} bytes of shared memory a block and {} has {}; give another variant", kernel.name, shared,
                                      device_name(device), most_shared));
}

/// What a grid can count: the chains along x, the members along y.
void check_grids(const Program& program) {
    constexpr std::int64_t most_members = 65535;
    for (const auto& kernel : program.kernels) {
        const auto groups = (program.spec.batch + kernel.shape.members_per_task - 1) / kernel.shape.members_per_task;
        if (groups > most_members)
            throw SpecError(fmt::format("a batch of {} is too large for one CUDA launch; give at most {}", program.spec.batch,
                                        most_members * kernel.shape.members_per_task));
    }
    for (const auto& level : program.schedule.levels) {
        if (level.chains() > std::numeric_limits<int>::max())
            throw SpecError(fmt::format("schedule {} has a level of {} chains; CUDA launches at most {}", program.schedule.name,
                                        level.chains(), std::numeric_limits<int>::max()));
    }
}

}  // namespace

Module::Module(int ordinal, const std::string& cubin) : context_(ordinal) {
    const Current current(context_.get());
    const auto result = driver().cuModuleLoadData(&module_, cubin.data());
    if (result == CUDA_ERROR_OUT_OF_MEMORY) check(result, "cuModuleLoadData");
    if (result != CUDA_SUCCESS)
        throw DeviceError(fmt::format("{} does not load the compiled kernels ({} bytes): cuModuleLoadData failed: {}",
                                      device_name(context_.device()), cubin.size(), describe(result)));
}

Module::~Module() {
    const auto& functions = driver();
    CUcontext popped = nullptr;
    if (functions.cuCtxPushCurrent(context_.get()) != CUDA_SUCCESS) return;  // the driver has shut down already
    functions.cuModuleUnload(module_);
    functions.cuCtxPopCurrent(&popped);
}

CUfunction Module::function(const std::string& name) const {
    CUfunction found = nullptr;
    const auto result = driver().cuModuleGetFunction(&found, module_, name.c_str());
    if (result == CUDA_ERROR_NOT_FOUND) return nullptr;
    check(result, "cuModuleGetFunction");
    return found;
}

Loaded load(const Program& program, int ordinal, const Binary& binary) {
    check_grids(program);
    const auto module = std::make_shared<Module>(ordinal, binary.bytes);
    const Current current(module->context().get());
    Loaded loaded{module, {}};
    for (const auto& kernel : program.kernels) {
        const auto function = module->function(kernel.name);
        loaded.functions.push_back(function);
        if (function == nullptr) continue;
        check_block(kernel, function, module->context().device());
        TRIFOLD_CU(cuFuncSetAttribute, function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                   static_cast<int>(kernel.shape.shared_bytes));
    }
    return loaded;
}

}  // namespace trifold::cuda
#endif
