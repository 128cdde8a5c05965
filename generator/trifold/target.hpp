#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace [[gnu::visibility("default")]] trifold {

/// `c99` is for export alone: such a Program would have no kernels, only the C of templates/export/c99.
enum class Backend { cpu, cuda, hip, c99 };
std::string_view to_string(Backend backend);

/// Architecture that the code will run on: `cpu:x86-64-v3`, `cuda:sm_90`, `hip:gfx942`, `c99:cortex-m7`. The architecture is always
/// explicit once resolved; only the runtime turns `cpu:native` into the machine at hand (the generator never probes).
struct Target {
    Backend backend = Backend::cpu;
    std::string arch = "native";
    bool operator==(const Target&) const = default;
};

/// Parses `backend:arch`, or `c99` for c99:generic; throws SpecError naming the accepted architectures on anything else.
Target parse_target(std::string_view text);
std::string to_string(const Target& target);
/// Every architecture of HIP.
std::vector<Target> hip_targets();
/// Throws SpecError unless the architecture is known and resolved.
void validate(const Target& target);

/// Bytes of one vector register of a resolved CPU target (64 for x86-64-v4).
int vector_bytes(const Target& target);
/// Vector registers of a resolved CPU target (32 for x86-64-v4).
int vector_registers(const Target& target);
/// Compilers' name for the instruction set of a resolved CPU target: its own name, or x86-64-v4 for znver4.
std::string_view instruction_set(const Target& target);
/// 90 for `cuda:sm_90`.
int compute_capability(const Target& target);
/// Threads of a warp of a GPU target: 64 for `hip:gfx942`, else 32. AMD calls a warp a wave.
int warp_lanes(const Target& target);

}  // namespace trifold
