#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <span>
#include <trifold/error.hpp>
#include <trifold/target.hpp>

namespace trifold {
namespace {

struct CpuArch {
    std::string_view name;
    int vector_bytes, vector_registers;
    std::string_view instruction_set;  // its name for compilers
};
// psABI levels rather than CPU names: every compiler knows them, and a cached binary serves every machine of the level. Zen 4 is a level of
// its own: what it has is x86-64-v4, but it carries out vectors of 64 bytes in two halves, which changes what is fast.
constexpr std::array cpu_archs{
    CpuArch{"native", 0, 0, ""},
    CpuArch{"x86-64", 16, 16, "x86-64"},
    CpuArch{"x86-64-v2", 16, 16, "x86-64-v2"},
    CpuArch{"x86-64-v3", 32, 16, "x86-64-v3"},
    CpuArch{"x86-64-v4", 64, 32, "x86-64-v4"},
    CpuArch{"znver4", 64, 32, "x86-64-v4"},
    CpuArch{"armv8-a", 16, 32, "armv8-a"},
    CpuArch{"rv64gcv", 16, 32, "rv64gcv"},
};
constexpr std::array cuda_archs{"sm_75", "sm_80",  "sm_86",  "sm_87",  "sm_88",  "sm_89",
                                "sm_90", "sm_100", "sm_103", "sm_110", "sm_120", "sm_121"};
constexpr std::array hip_archs{"gfx906", "gfx908", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201"};
constexpr std::array c99_archs{"generic", "cortex-m4", "cortex-m7", "neon", "avx2", "avx512", "rvv"};

/// Throws SpecError unless the backend has the architecture.
Target find_arch(Backend backend, std::string_view text, std::string_view arch, std::span<const char* const> known) {
    if (std::ranges::find(known, arch) != known.end()) return {backend, std::string(arch)};
    const auto separator = fmt::format(", {}:", to_string(backend));
    throw SpecError(
        fmt::format("unknown architecture in target '{}'; give one of {}:{}", text, to_string(backend), fmt::join(known, separator)));
}

const CpuArch* find_cpu(std::string_view arch) {
    const auto* found = std::ranges::find(cpu_archs, arch, &CpuArch::name);
    return found == cpu_archs.end() ? nullptr : found;
}

}  // namespace

Target parse_target(std::string_view text) {
    const auto colon = text.find(':');
    const auto backend = text.substr(0, colon);
    const auto arch = colon == std::string_view::npos ? std::string_view{} : text.substr(colon + 1);
    if (backend == "cpu") {
        if (colon == std::string_view::npos) return {Backend::cpu, "native"};
        if (find_cpu(arch) == nullptr) {
            std::string known;
            for (const auto& entry : cpu_archs) known += fmt::format("{}cpu:{}", known.empty() ? "" : ", ", entry.name);
            throw SpecError(fmt::format("unknown architecture in target '{}'; give one of {}", text, known));
        }
        return {Backend::cpu, std::string(arch)};
    }
    if (backend == "cuda") return find_arch(Backend::cuda, text, arch, cuda_archs);
    if (backend == "hip") return find_arch(Backend::hip, text, arch, hip_archs);
    if (backend == "c99") return find_arch(Backend::c99, text, colon == std::string_view::npos ? "generic" : arch, c99_archs);
    throw SpecError(
        fmt::format("unknown target '{}'; give cpu:ARCH, cuda:ARCH or hip:ARCH, such as cpu:x86-64-v3, cuda:sm_90 or hip:gfx942; or, to "
                    "export, c99:ARCH, such as c99:cortex-m7",
                    text));
}

std::string_view to_string(Backend backend) {
    constexpr std::string_view names[] = {"cpu", "cuda", "hip", "c99"};
    return names[static_cast<std::size_t>(backend)];
}

std::string to_string(const Target& target) { return fmt::format("{}:{}", to_string(target.backend), target.arch); }

std::vector<Target> hip_targets() {
    std::vector<Target> result;
    for (const auto* arch : hip_archs) result.push_back({Backend::hip, arch});
    return result;
}

void validate(const Target& target) {
    parse_target(to_string(target));
    if (target.backend == Backend::cpu) vector_bytes(target);
}

int vector_bytes(const Target& target) {
    const auto* arch = target.backend == Backend::cpu ? find_cpu(target.arch) : nullptr;
    if (arch == nullptr || arch->vector_bytes == 0)
        throw SpecError(fmt::format("target '{}' is not a resolved CPU architecture; resolve 'native' first", to_string(target)));
    return arch->vector_bytes;
}

int vector_registers(const Target& target) {
    vector_bytes(target);
    return find_cpu(target.arch)->vector_registers;
}

std::string_view instruction_set(const Target& target) {
    vector_bytes(target);
    return find_cpu(target.arch)->instruction_set;
}

int compute_capability(const Target& target) {
    if (target.backend != Backend::cuda || !target.arch.starts_with("sm_"))
        throw SpecError(fmt::format("target '{}' is not a CUDA architecture", to_string(target)));
    return std::stoi(target.arch.substr(3));
}

int warp_lanes(const Target& target) { return target.backend == Backend::hip && target.arch.starts_with("gfx9") ? 64 : 32; }

}  // namespace trifold
