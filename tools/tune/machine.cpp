#include <fmt/format.h>

#include <fstream>
#include <sstream>

#include "runtime/wisdom/wisdom.hpp"
#include "tools/tune/measure.hpp"

namespace trifold::tune {
namespace {

/// The value of a line "name : value"; empty where there is none.
std::string line_of(const char* path, const std::string& name) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        if (!line.starts_with(name)) continue;
        const auto value = line.find_first_not_of(" \t", line.find(':') + 1);
        return value == std::string::npos ? "" : line.substr(value);
    }
    return "";
}

/// "580.65.06" of a line such as "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Release Build".
std::string version_of_nvidia() {
    std::istringstream words(line_of("/proc/driver/nvidia/version", "NVRM version"));
    for (std::string word; words >> word;)
        if (word.find_first_not_of("0123456789.") == std::string::npos && word.find('.') != std::string::npos) return word;
    return "";
}

}  // namespace

Machine machine_of(const Device& device) {
    const auto target = to_string(device.target());
    if (device.backend() == Backend::cpu) return {wisdom_device(device), target, ""};
    if (device.backend() == Backend::hip) return {device.name(), target, fmt::format("HIP {}", probe_hip().driver)};
    const auto version = version_of_nvidia(), cuda = fmt::format("CUDA {}", probe_cuda().driver);
    return {device.name(), target, version.empty() ? cuda : fmt::format("{} ({})", version, cuda)};
}

}  // namespace trifold::tune
