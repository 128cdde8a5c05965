#include "runtime/device/host_memory.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <trifold/error.hpp>
#include <trifold/precision.hpp>

#include "runtime/base/switches.hpp"
#include "runtime/device/pool.hpp"

namespace trifold {

HostMemory allocate_on_host(std::int64_t bytes, std::string_view advice) {
    constexpr std::int64_t huge_page = 2 << 20;
    const auto size = static_cast<std::size_t>(bytes);
    const auto installed = static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::int64_t>(sysconf(_SC_PAGESIZE));
    void* memory = nullptr;
    if (bytes > installed || posix_memalign(&memory, bytes < 2 * huge_page ? workspace_alignment : huge_page, size) != 0)
        throw DeviceError(fmt::format("the workspace needs {} bytes of memory and the machine has {}; {}", bytes, installed, advice));
    if (bytes >= 2 * huge_page) madvise(memory, size, MADV_HUGEPAGE);  // advice: nothing depends on it
    return HostMemory(memory);
}

void clear_workspace(const Program& program, void* workspace, bool whole) {
    auto* bytes = static_cast<char*>(workspace);
    if (whole) std::memset(bytes, 0xff, static_cast<std::size_t>(program.workspace_bytes));
    for (const auto& buffer : program.buffers) {
        if (buffer.zeroed) std::memset(bytes + buffer.offset, 0, static_cast<std::size_t>(buffer.bytes));
        std::memcpy(bytes + buffer.offset, buffer.contents.data(), buffer.contents.size());
    }
}

std::chrono::microseconds spin_time(int microseconds) {
    constexpr std::int64_t most = 1'000'000;
    const auto value = switch_value("TRIFOLD_SPIN");
    int spin = microseconds;
    if (spin == -1) {
        spin = static_cast<int>(Pool::standard_spin.count());
        const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), spin);
        if (!value.empty() && (error != std::errc() || end != value.data() + value.size() || spin < 0 || spin > most))
            throw SpecError(fmt::format("TRIFOLD_SPIN = '{}' is no time; give whole microseconds from 0 to {}", value, most));
    }
    check_range("spin_microseconds", spin, 0, most);
    return std::chrono::microseconds(spin);
}

}  // namespace trifold
