#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string_view>

#include "tests/support/emulator/detector.hpp"

namespace trifold::test {
namespace {

std::string output_of(const std::string& command) {
    const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), &pclose);
    std::string text;
    std::array<char, 4096> piece{};
    while (pipe != nullptr && std::fgets(piece.data(), piece.size(), pipe.get()) != nullptr) text += piece.data();
    return text;
}

}  // namespace

std::string source_line(const void* address) {
    Dl_info info{};
    if (address == nullptr || dladdr(address, &info) == 0) return "an unknown place";
    // One before the return address is within the call.
    const auto offset = reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(info.dli_fbase) - 1;
    const auto lines = output_of(fmt::format("addr2line -i -e '{}' {:#x} 2>/dev/null", info.dli_fname, offset));
    std::string result;
    int frames = 0;
    for (std::size_t at = 0; at < lines.size();) {
        auto line = std::string_view(lines).substr(at, lines.find('\n', at) - at);
        at += line.size() + 1;
        line = line.substr(0, line.find(" (discriminator"));
        const auto folder = line.find("templates/gpu/");
        if (line.find("/platform") != line.npos || line.find("??") != line.npos || frames == 3) continue;
        result += fmt::format("{}{}", ++frames > 1 ? " in " : "", line.substr(folder == line.npos ? line.rfind('/') + 1 : folder));
    }
    return result.empty() ? fmt::format("offset {:#x}", offset) : result;
}

}  // namespace trifold::test
