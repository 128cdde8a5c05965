#include "runtime/device/processor.hpp"

#include <fmt/format.h>

#if defined(__x86_64__)
#include <cpuid.h>

#include <array>
#include <cstring>
#elif defined(__aarch64__)
#include "runtime/base/files.hpp"
#endif

namespace trifold {

#if defined(__x86_64__)

std::string processor_name() {
    unsigned a = 0, b = 0, c = 0, d = 0;
    __get_cpuid(0, &a, &b, &c, &d);
    std::array<char, 13> vendor{};  // in this order of registers
    std::memcpy(vendor.data(), &b, 4);
    std::memcpy(vendor.data() + 4, &d, 4);
    std::memcpy(vendor.data() + 8, &c, 4);
    for (auto& letter : vendor)
        if (letter != '\0' && (letter < ' ' || letter > '~')) letter = '?';
    __get_cpuid(1, &a, &b, &c, &d);
    // Bits 8 to 11 are the family, 4 to 7 the model; both have more bits in newer processors.
    constexpr unsigned extended_family = 0xf;
    const auto base = a >> 8 & 0xf;
    const auto family = base == extended_family ? base + (a >> 20 & 0xff) : base;
    const auto model = (a >> 4 & 0xf) + (base == extended_family || base == 6 ? (a >> 16 & 0xf) << 4 : 0);
    return fmt::format("{} family {} model {}", vendor.data(), family, model);
}

#elif defined(__aarch64__)

std::string processor_name() {
    auto text = read_file("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1").value_or("unknown");
    const auto number = text.substr(0, text.find('\n'));
    const auto digits = number.find_first_not_of("0x");  // 0x00000000410fd0c0
    return "AArch64 part " + (number == "unknown" || digits == std::string::npos ? "unknown" : "0x" + number.substr(digits));
}

#else

std::string processor_name() { return "unknown processor"; }

#endif

}  // namespace trifold
