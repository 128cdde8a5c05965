#include "runtime/gpu_module.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <trifold/error.hpp>

namespace trifold::gpu {
namespace {

/// Throws DeviceError when the device cannot hold one thread block of the kernel.
void check_block(const Kernel& kernel, void* function, const Context& context) {
    const auto& driver = context.driver();
    const auto limits = driver.limits(function);
    if (kernel.shape.threads > limits.threads)
        throw DeviceError(fmt::format("{} needs {} threads a block and its registers allow {} on {}; give another variant", kernel.name,
                                      kernel.shape.threads, limits.threads, driver.device_name(context.ordinal())));
    const auto shared = kernel.shape.shared_bytes + limits.own_shared_bytes;
    const auto most_shared = driver.most_shared_bytes(context.ordinal());
    if (shared > most_shared)
        throw DeviceError(fmt::format("{} needs {} bytes of shared memory a block and {} has {}; give another variant", kernel.name, shared,
                                      driver.device_name(context.ordinal()), most_shared));
}

/// The most thread blocks along x. HIP counts threads, with 32 bits.
std::int64_t most_groups(const Program& program) {
    std::int64_t threads = 1;
    for (const auto& kernel : program.kernels) threads = std::max<std::int64_t>(threads, kernel.shape.threads);
    if (program.target.backend == Backend::hip) return std::numeric_limits<std::uint32_t>::max() / threads;
    return std::numeric_limits<std::int32_t>::max();
}

/// What a grid can count: the chains along x, the members along y.
void check_grids(const Program& program) {
    constexpr std::int64_t most_members = 65535;
    const auto name = backend_name(program.target.backend);
    for (const auto& kernel : program.kernels) {
        const auto groups = (program.spec.batch + kernel.shape.members_per_task - 1) / kernel.shape.members_per_task;
        if (groups > most_members)
            throw SpecError(fmt::format("a batch of {} is too large for one {} launch; give at most {}", program.spec.batch, name,
                                        most_members * kernel.shape.members_per_task));
    }
    for (const auto& level : program.schedule.levels) {
        if (level.chains() > most_groups(program))
            throw SpecError(fmt::format("schedule {} has a level of {} chains; {} launches at most {}", program.schedule.name,
                                        level.chains(), name, most_groups(program)));
    }
}

}  // namespace

Module::Module(const Driver& driver, int ordinal, const std::vector<std::string>& images) : context_(driver, ordinal), images_(images) {
    const Current current(context_);
    try {
        for (const auto& image : images_) modules_.push_back(driver.load_module(image, driver.device_name(ordinal)));
    } catch (...) {
        unload();
        throw;
    }
}

Module::~Module() {
    try {
        const Current current(context_);
        unload();
    } catch (const Error&) {
        // The driver has shut down already.
    }
}

void Module::unload() noexcept {
    for (void* module : modules_) context_.driver().unload_module(module);
}

Loaded load(const Program& program, int ordinal, const Binary& binary) {
    check_grids(program);
    const auto& used = driver(program.target.backend);
    const auto module = std::make_shared<Module>(used, ordinal, binary.images);
    const Current current(module->context());
    Loaded loaded{module, {}};
    for (const auto& kernel : program.kernels) {
        auto* function = module->function(kernel.image, kernel.name);
        loaded.functions.push_back(function);
        if (function == nullptr) continue;
        check_block(kernel, function, module->context());
        used.allow_shared(function, static_cast<int>(kernel.shape.shared_bytes));
    }
    return loaded;
}

}  // namespace trifold::gpu
