#include "runtime/device/code.hpp"

#include <fmt/format.h>

#include <chrono>

#include "runtime/base/fork_safe_cache.hpp"
#include "runtime/compile/async.hpp"
#include "runtime/compile/cache.hpp"
#include "runtime/device/gpu_module.hpp"

namespace trifold {
namespace {

/// Code of a CPU.
class HostCode final : public Code {
  public:
    /// Throws CompileError when the binary cannot be loaded here.
    explicit HostCode(const Binary& binary) : Code(binary), module_(binary) {}
    void* function(const Kernel& kernel) const override { return module_.symbol(kernel.name); }

  private:
    HostModule module_;
};

/// By device and key of the cache, of which the target is a part.
auto& table = *new ForkSafeCache<std::string, const Code>;  // never destroyed: at exit threads may be in a call

/// `obtain` gives the binary if no plan has it loaded, or nothing.
template <class Obtain>
std::optional<LoadedCode> share(const Unit& unit, const Device& device, Obtain obtain) {
    const auto key = cache_key(unit);
    LoadedCode loaded;
    const auto make = [&]() -> std::shared_ptr<const Code> {
        const std::optional<Binary> binary = obtain(unit, key);
        if (!binary) return nullptr;
        loaded = load(*binary, device);
        return loaded.code;
    };
    loaded.code = table.get(fmt::format("{} {}", device.ordinal(), key), make);
    return loaded.code == nullptr ? std::nullopt : std::optional(loaded);
}

}  // namespace

LoadedCode load(const Binary& binary, const Device& device) {
    const auto start = std::chrono::steady_clock::now();
    LoadedCode loaded{.code = nullptr, .cache_hit = binary.cache_hit};
    if (device.backend() == Backend::cpu)
        loaded.code = std::make_shared<HostCode>(binary);
    else
        loaded.code = std::make_shared<gpu::Module>(gpu::driver(device.backend()), device.ordinal(), binary);
    loaded.load_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return loaded;
}

LoadedCode load(const Unit& unit, const Device& device) {
    return share(unit, device, [](const Unit& given, const std::string&) { return std::optional(obtain(given)); }).value();
}

std::optional<LoadedCode> load_cached(const Unit& unit, const Device& device) { return share(unit, device, obtain_cached); }

}  // namespace trifold
