#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <trifold/error.hpp>

#include "generator/export/c99/parts.hpp"

namespace trifold {
namespace {

constexpr std::string_view qemu_m4 =
    "qemu-system-arm -M mps2-an386 -display none -serial none -monitor none -semihosting-config enable=on,target=native -icount shift=0 "
    "-kernel";
constexpr std::string_view qemu_m7 =
    "qemu-system-arm -M mps2-an500 -display none -serial none -monitor none -semihosting-config enable=on,target=native -icount shift=0 "
    "-kernel";

constexpr Machine cortex_m(std::string_view arch, std::string_view flags, std::string_view run, std::int64_t stack_f64) {
    return {.arch = arch,
            .compiler = "arm-none-eabi-gcc",
            .flags = flags,
            .link = " --specs=rdimon.specs -T cortex_m.ld",
            .run = run,
            .size = "arm-none-eabi-size",
            .stack_bytes = {768, stack_f64},
            .code_bytes = {6720, 6720},
            .report = "cortex_m"};
}

/// A machine with vectors of 128 bits, which QEMU emulates.
constexpr Machine foreign(std::string_view arch, std::string_view compiler, std::string_view flags, std::string_view run,
                          std::string_view size, std::string_view kernels) {
    return {.arch = arch,
            .compiler = compiler,
            .flags = flags,
            .link = " -static",
            .run = run,
            .size = size,
            .stack_bytes = {4096, 4096},
            .code_bytes = {32768, 32768},
            .kernels = kernels,
            .report = "qemu"};
}

constexpr std::array machines{
    Machine{
        .arch = "generic", .flags = "-std=c99 -Wpedantic", .contract = "off", .stack_bytes = {1280, 1280}, .code_bytes = {12288, 12288}},
    cortex_m("cortex-m4", "-std=c99 -Wpedantic -mcpu=cortex-m4 -mthumb -mfpu=fpv4-sp-d16 -mfloat-abi=hard", qemu_m4, 1024),
    cortex_m("cortex-m7", "-std=c99 -Wpedantic -mcpu=cortex-m7 -mthumb -mfpu=fpv5-d16 -mfloat-abi=hard", qemu_m7, 768),
    foreign("neon", "aarch64-linux-gnu-gcc", "-std=gnu11 -march=armv8-a", "qemu-aarch64", "aarch64-linux-gnu-size", "armv8-a"),
    Machine{.arch = "avx2",
            .flags = "-std=gnu11 -march=x86-64-v3",
            .stack_bytes = {6144, 6144},
            .code_bytes = {40960, 40960},
            .kernels = "x86-64-v3"},
    Machine{.arch = "avx512",
            .flags = "-std=gnu11 -march=x86-64-v4 -mprefer-vector-width=512 -Wno-aggressive-loop-optimizations",
            .stack_bytes = {9216, 9216},
            .code_bytes = {61440, 61440},
            .kernels = "x86-64-v4",
            .report = ""},
    foreign("rvv", "clang-19 --target=riscv64-linux-gnu", "-std=gnu11 -march=rv64gcv",
            "qemu-riscv64 -cpu rv64,v=true,vext_spec=v1.0,vlen=128", "riscv64-linux-gnu-size", "rv64gcv")};

}  // namespace

const Machine& machine_of(const Target& target) {
    const auto* found = std::ranges::find(machines, target.arch, &Machine::arch);
    if (target.backend != Backend::c99 || found == machines.end())
        throw SpecError(fmt::format(
            "target '{}' cannot be exported; give c99:generic, c99:cortex-m4, c99:cortex-m7, c99:neon, c99:avx2, c99:avx512 or c99:rvv",
            to_string(target)));
    return *found;
}

bool uses_kernels(const ExportRequest& request) { return is_general(request.spec) || machine_of(request.target).has_kernels(); }

std::string flags_of(const ExportRequest& request) {
    constexpr std::string_view plain = "-std=c99 -Wpedantic";
    const auto flags = machine_of(request.target).flags;
    return uses_kernels(request) && flags.starts_with(plain) ? fmt::format("-std=gnu11{}", flags.substr(plain.size())) : std::string(flags);
}

}  // namespace trifold
