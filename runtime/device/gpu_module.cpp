#include "runtime/device/gpu_module.hpp"

#include <fmt/format.h>

#include <limits>
#include <trifold/error.hpp>

namespace trifold::gpu {
namespace {

/// Throws DeviceError when the device cannot hold one thread block of the kernel.
void check_block(const Kernel& kernel, void* function, const Context& context) {
    const auto& driver = context.driver();
    const auto limits = driver.limits(function);
    if (kernel.threads > limits.threads)
        throw DeviceError(fmt::format("{} needs {} threads a block and its registers allow {} on {}; give another variant", kernel.name,
                                      kernel.threads, limits.threads, driver.device_name(context.ordinal())));
    const auto shared = kernel.shared_bytes + limits.own_shared_bytes;
    const auto max_shared = driver.max_shared_bytes(context.ordinal());
    if (shared > max_shared)
        throw DeviceError(fmt::format("{} needs {} bytes of shared memory a block and {} has {}; give another variant", kernel.name, shared,
                                      driver.device_name(context.ordinal()), max_shared));
}

/// Limits of a launch: groups along x, where HIP counts threads with 32 bits, and members along y.
void check_grid(const Program& program, const Launch& launch, std::int64_t members) {
    constexpr std::int64_t max_along_y = 65535;
    const auto& kernel = kernel_of(program, launch);
    const auto backend = program.units[launch.unit].target.backend;
    const auto max_groups = backend == Backend::hip ? std::numeric_limits<std::uint32_t>::max() / static_cast<std::uint32_t>(kernel.threads)
                                                    : static_cast<std::uint32_t>(std::numeric_limits<std::int32_t>::max());
    const auto [groups, each] = launch.grid;
    if ((members + each - 1) / each > max_along_y)
        throw SpecError(fmt::format("a batch of {} is too large for one {} launch; give at most {}", members, backend_name(backend),
                                    max_along_y * each));
    if (groups > max_groups)
        throw SpecError(fmt::format("the launch '{}' has {} groups of threads; {} launches at most {}", launch.what, groups,
                                    backend_name(backend), max_groups));
}

}  // namespace

void check_grids(const Program& program, std::int64_t members) {
    for (const auto& [_, launches] : program.operations)
        for (const auto& launch : launches) check_grid(program, launch, members);
}

Module::Module(const Driver& driver, int ordinal, const Binary& binary) : Code(binary), context_(driver, ordinal), code_(binary.code) {
    const Relaxed relaxed(driver);
    const Current current(context_);
    module_ = driver.load_module(code_, driver.device_name(ordinal));
}

Module::~Module() {
    try {
        const Current current(context_);
        context_.driver().unload_module(module_);
    } catch (const Error&) {
        // The driver has shut down already.
    }
}

void* Module::function(const Kernel& kernel) const {
    const Relaxed relaxed(context_.driver());
    const Current current(context_);
    void* function = context_.driver().find_function(module_, kernel.name);
    if (function == nullptr) throw CompileError(fmt::format("the loaded kernels have no symbol '{}'", kernel.name), {});
    check_block(kernel, function, context_);
    allow_shared(function, static_cast<int>(kernel.shared_bytes));
    return function;
}

/// Another plan's launches may need more.
void Module::allow_shared(void* function, int bytes) const {
    const std::scoped_lock lock(mutex_);
    auto& allowed = shared_[function];
    if (bytes <= allowed) return;
    context_.driver().allow_shared(function, bytes);
    allowed = bytes;
}

}  // namespace trifold::gpu
