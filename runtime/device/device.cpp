#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <trifold/device.hpp>
#include <trifold/error.hpp>

#include "runtime/base/switches.hpp"
#include "runtime/compile/cache.hpp"
#include "runtime/compile/compiler.hpp"
#include "runtime/device/gpu.hpp"

namespace trifold {
namespace {

/// The architectures whose kernels this processor runs, the best first: the psABI levels that it has, before them Zen 4 by its own name.
std::vector<std::string> host_archs() {
#if defined(__x86_64__)
    std::vector<std::string> archs;
    __builtin_cpu_init();
    const bool has_v4 = __builtin_cpu_supports("x86-64-v4");
    if (has_v4 && __builtin_cpu_is("amdfam19h")) archs.emplace_back("znver4");  // Zen 3 is of that family too, without AVX-512
    if (has_v4) archs.emplace_back("x86-64-v4");
    if (__builtin_cpu_supports("x86-64-v3")) archs.emplace_back("x86-64-v3");
    if (__builtin_cpu_supports("x86-64-v2")) archs.emplace_back("x86-64-v2");
    archs.emplace_back("x86-64");
    return archs;
#elif defined(__aarch64__)
    return {"armv8-a"};
#else
    throw DeviceError("this processor is neither x86-64 nor AArch64; export C sources for it instead (trifold generate --target cpu:...)");
#endif
}

bool is_known(const Target& target) {
    try {
        validate(target);
        return true;
    } catch (const SpecError&) {
        return false;
    }
}

constexpr int oldest_capability = 75;

int capability_of(const std::string& arch) { return std::stoi(arch.substr(3)); }

/// Machine code runs within a major version; others compile PTX.
bool same_major(const std::string& arch, const std::string& other) { return capability_of(arch) / 10 == capability_of(other) / 10; }

/// The newest known architecture whose kernels this device runs; empty when there is none. For CUDA one that is not newer than it, for HIP
/// its own.
std::string best_arch(Backend backend, const std::string& arch) {
    if (is_known({backend, arch})) return arch;
    if (backend == Backend::hip || !arch.starts_with("sm_")) return {};
    for (int candidate = capability_of(arch); candidate >= oldest_capability; --candidate)
        if (is_known({backend, fmt::format("sm_{}", candidate)})) return fmt::format("sm_{}", candidate);
    return {};
}

/// `arch`, unless layers have kernels for an older one alone and none can be compiled: then that one.
std::string arch_with_code(const std::string& arch, const std::string& of_device) {
    const auto layers = Cache::layers();
    if (layers.empty()) return arch;
    for (int candidate = capability_of(arch); candidate >= oldest_capability; --candidate) {
        const auto number = std::to_string(candidate), name = "sm_" + number;
        const auto serves = [&](const Cache& layer) {
            return layer.has_target("compute_" + number) || (same_major(name, of_device) && layer.has_target(name));
        };
        if (std::ranges::none_of(layers, serves)) continue;
        const bool compiles = name != arch && !disabled("jit") && expect_compiler({Backend::cuda, arch}) != nullptr;
        return compiles ? arch : name;
    }
    return arch;
}

std::string_view name_of(Backend backend) { return backend == Backend::hip ? "HIP" : "CUDA"; }

int parse_ordinal(std::string_view text, std::string_view digits) {
    int ordinal = -1;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), ordinal);
    if (error != std::errc{} || end != digits.data() + digits.size() || ordinal < 0)
        throw SpecError(fmt::format("'{}' names no device; give a number from 0, as in cuda:1 or hip:1", text));
    return ordinal;
}

}  // namespace

Device Device::cpu() {
    const auto memory = static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::int64_t>(sysconf(_SC_PAGESIZE));
    const auto arch = host_archs().front();
    return Device({Backend::cpu, arch}, 0, "cpu:" + arch, memory);
}

Device Device::gpu(Backend backend, int ordinal) {
    const auto found = gpu::report(backend);
    const auto word = to_string(backend);
    if (found.devices.empty()) throw DeviceError(fmt::format("no {} device: {}", name_of(backend), found.problem));
    if (ordinal < 0 || ordinal >= static_cast<int>(found.devices.size()))
        throw DeviceError(fmt::format("no {0} device {1}: found {2} device(s), {3}:0 to {3}:{4}", name_of(backend), ordinal,
                                      found.devices.size(), word, found.devices.size() - 1));
    const auto& info = found.devices[static_cast<std::size_t>(ordinal)];
    auto arch = best_arch(backend, info.arch);
    if (arch.empty()) {
        const auto* needed = backend == Backend::hip ? "trifold doctor lists those it knows" : "it needs sm_75 or newer";
        throw DeviceError(
            fmt::format("{}:{} ({}) is a {}, for which this library generates no code; {}", word, ordinal, info.name, info.arch, needed));
    }
    if (backend == Backend::cuda) arch = arch_with_code(arch, info.arch);
    return Device({backend, arch}, ordinal, info.name, info.memory_bytes);
}

bool gpu::needs_ptx(const Device& device) {
    if (device.backend() != Backend::cuda) return false;
    const auto found = report(Backend::cuda);
    return !same_major(found.devices.at(static_cast<std::size_t>(device.ordinal())).arch, device.target().arch);
}

Device Device::cuda(int ordinal) { return gpu(Backend::cuda, ordinal); }
Device Device::hip(int ordinal) { return gpu(Backend::hip, ordinal); }

Device Device::parse(std::string_view text) {
    if (text == "auto") {
        for (const auto backend : {Backend::cuda, Backend::hip}) {
            if (!gpu::may_have_device(backend)) continue;
            const auto found = backend == Backend::cuda ? probe_cuda() : probe_hip();
            if (!found.devices.empty()) return found.devices.front();
        }
        return cpu();
    }
    if (text == "cpu") return cpu();
    if (text.starts_with("cpu:")) {
        auto device = cpu();
        device.target_ = parse_target(text);
        const auto archs = host_archs();
        if (device.target_.arch == "native") return cpu();
        if (std::ranges::find(archs, device.target_.arch) == archs.end())
            throw DeviceError(fmt::format("this processor does not run {}; it has cpu:{}", text, fmt::join(archs, ", cpu:")));
        device.name_ = text;
        return device;
    }
    if (text == "cuda") return cuda();
    if (text.starts_with("cuda:")) return cuda(parse_ordinal(text, text.substr(5)));
    if (text == "hip") return hip();
    if (text.starts_with("hip:")) return hip(parse_ordinal(text, text.substr(4)));
    throw SpecError(fmt::format("unknown device '{}'; give auto, cpu, cuda, cuda:N, hip or hip:N", text));
}

namespace {

DriverReport probe(Backend backend, Device (*make)(int)) {
    const auto found = gpu::report(backend);
    DriverReport result{found.driver, found.problem, {}};
    for (int ordinal = 0; ordinal < static_cast<int>(found.devices.size()); ++ordinal) {
        try {
            result.devices.push_back(make(ordinal));
        } catch (const DeviceError& error) {
            result.problem = error.what();  // an unsupported device; others may serve
        }
    }
    return result;
}

}  // namespace

DriverReport probe_cuda() { return probe(Backend::cuda, Device::cuda); }
DriverReport probe_hip() { return probe(Backend::hip, Device::hip); }

}  // namespace trifold
