#include "runtime/gpu_driver.hpp"

#include <fmt/format.h>

#include <trifold/error.hpp>

namespace trifold::gpu {
namespace {

const Opened& opened(Backend backend) {
    // Never destroyed, as the drivers' libraries are never closed.
    static const Opened& cuda = *new Opened(open_cuda());
    static const Opened& hip = *new Opened(open_hip());
    return backend == Backend::hip ? hip : cuda;
}

}  // namespace

const Driver& driver(Backend backend) {
    const auto& [found, problem] = opened(backend);
    if (found == nullptr) throw DeviceError(fmt::format("no {} device: {}", backend_name(backend), problem));
    return *found;
}

Report report(Backend backend) {
    const auto& [found, problem] = opened(backend);
    if (found == nullptr) return {{}, problem, {}};
    try {
        return found->report();
    } catch (const Error& error) {
        return {{}, error.what(), {}};
    }
}

}  // namespace trifold::gpu
