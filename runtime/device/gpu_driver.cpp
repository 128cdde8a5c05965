#include "runtime/device/gpu_driver.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <trifold/error.hpp>

#include "runtime/base/limits.hpp"

namespace trifold::gpu {
namespace {

/// A driver is opened when it is asked for, once, and never destroyed, as the drivers' libraries are never closed. Throws DeviceError where
/// that failed for want of descriptors, and tries again the next time.
template <Opened (*open)()>
const Opened& opened_once() {
    static std::mutex mutex;
    static std::atomic<const Opened*> known = nullptr;
    if (const auto* found = known.load()) return *found;
    const std::scoped_lock lock(mutex);
    if (known.load() == nullptr) {
        auto found = std::make_unique<const Opened>(open());
        if (found->driver == nullptr) check_descriptors("open the driver");
        known = found.release();
    }
    return *known.load();
}
const Opened& opened(Backend backend) { return backend == Backend::hip ? opened_once<open_hip>() : opened_once<open_cuda>(); }

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

int multiprocessors(Backend backend, int ordinal) { return driver(backend).multiprocessors(ordinal); }

bool may_have_device(Backend backend, const std::filesystem::path& root) {
    // A program that is linked with the driver has opened it already.
    if (::dlsym(RTLD_DEFAULT, backend == Backend::hip ? "hipInit" : "cuInit") != nullptr) return true;
    const auto names = node_names(backend);
    std::error_code ignored;
    for (std::filesystem::directory_iterator node(root / "dev", ignored), end; !ignored && node != end; node.increment(ignored)) {
        const auto found = node->path().filename().string();
        if (std::ranges::any_of(names, [&](std::string_view name) { return found.starts_with(name); })) return true;
    }
    // The nodes may be made at first use only; the kernel's driver is there before them.
    return backend == Backend::cuda && std::filesystem::exists(root / "proc/driver/nvidia", ignored);
}

Report report(Backend backend) try {
    const auto& [found, problem] = opened(backend);
    return found == nullptr ? Report{{}, problem, {}} : found->report();
} catch (const Error& error) {
    return {{}, error.what(), {}};
}

}  // namespace trifold::gpu
