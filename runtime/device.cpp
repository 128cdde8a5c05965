#include "runtime/device.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "generator/error.hpp"
#include "runtime/cuda.hpp"
#include "runtime/error.hpp"

namespace trifold {
namespace {

/// The psABI levels this processor has, highest first.
std::vector<std::string> host_archs() {
#if defined(__x86_64__)
    std::vector<std::string> archs;
    __builtin_cpu_init();
    if (__builtin_cpu_supports("x86-64-v4")) archs.emplace_back("x86-64-v4");
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

/// The newest known architecture whose binaries this device runs: of its own major version, and not newer.
std::string best_arch(int capability) {
    for (int candidate = capability; candidate / 10 == capability / 10; --candidate) {
        const auto arch = fmt::format("sm_{}", candidate);
        try {
            validate(Target{Backend::cuda, arch});
            return arch;
        } catch (const SpecError&) {
        }
    }
    return {};
}

int parse_ordinal(std::string_view text, std::string_view digits) {
    int ordinal = -1;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), ordinal);
    if (error != std::errc{} || end != digits.data() + digits.size() || ordinal < 0)
        throw SpecError(fmt::format("'{}' names no device; give a number from 0, as in cuda:1", text));
    return ordinal;
}

}  // namespace

Device Device::cpu() {
    const auto memory = static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::int64_t>(sysconf(_SC_PAGESIZE));
    const auto arch = host_archs().front();
    return Device({Backend::cpu, arch}, 0, "cpu:" + arch, memory);
}

Device Device::cuda(int ordinal) {
    const auto found = cuda::report();
    if (found.devices.empty()) throw DeviceError("no CUDA device: " + found.problem);
    if (ordinal < 0 || ordinal >= static_cast<int>(found.devices.size()))
        throw DeviceError(fmt::format("no CUDA device {}: found {} device(s), cuda:0 to cuda:{}", ordinal, found.devices.size(),
                                      found.devices.size() - 1));
    const auto& info = found.devices[static_cast<std::size_t>(ordinal)];
    const auto arch = best_arch(info.capability);
    if (arch.empty())
        throw DeviceError(
            fmt::format("cuda:{} ({}) has compute capability {}.{}, for which this library generates no code; it needs 7.5 to 12.1",
                        ordinal, info.name, info.capability / 10, info.capability % 10));
    return Device({Backend::cuda, arch}, ordinal, info.name, info.memory_bytes);
}

Device Device::parse(std::string_view text) {
    if (text == "auto") {
        const auto found = probe_cuda();
        return found.devices.empty() ? cpu() : found.devices.front();
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
    throw SpecError(fmt::format("unknown device '{}'; give auto, cpu, cuda or cuda:N", text));
}

CudaReport probe_cuda() {
    const auto found = cuda::report();
    CudaReport result{found.driver, found.problem, {}};
    for (int ordinal = 0; ordinal < static_cast<int>(found.devices.size()); ++ordinal) {
        try {
            result.devices.push_back(Device::cuda(ordinal));
        } catch (const DeviceError& error) {
            result.problem = error.what();  // of an unsupported device; others may serve
        }
    }
    return result;
}

}  // namespace trifold
