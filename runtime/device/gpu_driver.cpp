#include "runtime/device/gpu_driver.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <trifold/error.hpp>

namespace trifold::gpu {
namespace {

// Each is opened when it is asked for, once, and never destroyed, as the drivers' libraries are never closed.
const Opened& opened_cuda() {
    static const Opened& cuda = *new Opened(open_cuda());
    return cuda;
}
const Opened& opened_hip() {
    static const Opened& hip = *new Opened(open_hip());
    return hip;
}
const Opened& opened(Backend backend) { return backend == Backend::hip ? opened_hip() : opened_cuda(); }

/// How the names of the nodes begin that the kernel's drivers make in /dev: of NVIDIA's on servers and on Jetson, of AMD's, and of WSL's.
std::vector<std::string_view> node_names(Backend backend) {
    if (backend == Backend::hip) return {"kfd", "dxg"};
    return {"nvidia", "nvhost", "nvgpu", "nvmap", "dxg"};
}

}  // namespace

const Driver& driver(Backend backend) {
    const auto& [found, problem] = opened(backend);
    if (found == nullptr) throw DeviceError(fmt::format("no {} device: {}", backend_name(backend), problem));
    return *found;
}

bool may_have_device(Backend backend, const std::filesystem::path& root) {
    // A program that is linked with the driver has opened it already.
    if (::dlsym(RTLD_DEFAULT, backend == Backend::hip ? "hipInit" : "cuInit") != nullptr) return true;
    const auto names = node_names(backend);
    std::error_code ignored;
    for (std::filesystem::directory_iterator node(root / "dev", ignored), end; !ignored && node != end; node.increment(ignored)) {
        const auto found = node->path().filename().string();
        if (std::ranges::any_of(names, [&](std::string_view name) { return found.starts_with(name); })) return true;
    }
    // Where the nodes are made at first use, the kernel's driver is there before them.
    return backend == Backend::cuda && std::filesystem::exists(root / "proc/driver/nvidia", ignored);
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
