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

constexpr std::array machines{Machine{.arch = "generic",
                                      .compiler = "cc",
                                      .flags = "-std=c99 -Wpedantic",
                                      .size = "size",
                                      .contract = "off",
                                      .stack_bytes = {1280, 1280},
                                      .code_bytes = {12288, 12288},
                                      .report = "host"},
                              Machine{.arch = "cortex-m4",
                                      .compiler = "arm-none-eabi-gcc",
                                      .flags = "-std=c99 -Wpedantic -mcpu=cortex-m4 -mthumb -mfpu=fpv4-sp-d16 -mfloat-abi=hard",
                                      .link = " --specs=rdimon.specs -T cortex_m.ld",
                                      .run = qemu_m4,
                                      .size = "arm-none-eabi-size",
                                      .contract = "fast",
                                      .stack_bytes = {768, 1024},
                                      .code_bytes = {6720, 6720},
                                      .report = "cortex_m"},
                              Machine{.arch = "cortex-m7",
                                      .compiler = "arm-none-eabi-gcc",
                                      .flags = "-std=c99 -Wpedantic -mcpu=cortex-m7 -mthumb -mfpu=fpv5-d16 -mfloat-abi=hard",
                                      .link = " --specs=rdimon.specs -T cortex_m.ld",
                                      .run = qemu_m7,
                                      .size = "arm-none-eabi-size",
                                      .contract = "fast",
                                      .stack_bytes = {768, 768},
                                      .code_bytes = {6720, 6720},
                                      .report = "cortex_m"},
                              Machine{.arch = "neon",
                                      .compiler = "aarch64-linux-gnu-gcc",
                                      .flags = "-std=gnu11 -march=armv8-a",
                                      .link = " -static",
                                      .run = "qemu-aarch64",
                                      .size = "aarch64-linux-gnu-size",
                                      .contract = "fast",
                                      .stack_bytes = {4096, 4096},
                                      .code_bytes = {32768, 32768},
                                      .kernels = "armv8-a",
                                      .report = "qemu"},
                              Machine{.arch = "avx2",
                                      .compiler = "cc",
                                      .flags = "-std=gnu11 -march=x86-64-v3",
                                      .size = "size",
                                      .contract = "fast",
                                      .stack_bytes = {6144, 6144},
                                      .code_bytes = {40960, 40960},
                                      .kernels = "x86-64-v3",
                                      .report = "host"},
                              Machine{.arch = "avx512",
                                      .compiler = "cc",
                                      .flags = "-std=gnu11 -march=x86-64-v4 -mprefer-vector-width=512 -Wno-aggressive-loop-optimizations",
                                      .size = "size",
                                      .contract = "fast",
                                      .stack_bytes = {9216, 9216},
                                      .code_bytes = {61440, 61440},
                                      .kernels = "x86-64-v4"},
                              Machine{.arch = "rvv",
                                      .compiler = "clang-19 --target=riscv64-linux-gnu",
                                      .flags = "-std=gnu11 -march=rv64gcv",
                                      .link = " -static",
                                      .run = "qemu-riscv64 -cpu rv64,v=true,vext_spec=v1.0,vlen=128",
                                      .size = "riscv64-linux-gnu-size",
                                      .contract = "fast",
                                      .stack_bytes = {4096, 4096},
                                      .code_bytes = {32768, 32768},
                                      .kernels = "rv64gcv",
                                      .report = "qemu"}};

}  // namespace

const Machine& machine_of(const Target& target) {
    const auto* found = std::ranges::find(machines, target.arch, &Machine::arch);
    if (target.backend != Backend::c99 || found == machines.end())
        throw SpecError(fmt::format(
            "target '{}' cannot be exported; give c99:generic, c99:cortex-m4, c99:cortex-m7, c99:neon, c99:avx2, c99:avx512 or c99:rvv",
            to_string(target)));
    return *found;
}

}  // namespace trifold
