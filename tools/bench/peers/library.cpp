#include "tools/bench/peers/library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <sstream>

#include "runtime/base/switches.hpp"

namespace trifold::bench {
namespace {

std::vector<std::string> directories() {
    std::vector<std::string> result;
    std::istringstream given(switch_value("TRIFOLD_PEERS"));
    for (std::string directory; std::getline(given, directory, ':');)
        if (!directory.empty()) result.push_back(directory + "/");
    result.insert(result.end(), {"", "/usr/local/cuda/lib64/"});
    return result;
}

}  // namespace

Library::Library(std::vector<std::string> names) {
    for (const auto& directory : directories()) {
        for (const auto& name : names) {
            handle_ = ::dlopen((directory + name).c_str(), RTLD_NOW | RTLD_LOCAL);
            name_ = name;
            if (handle_ != nullptr) return;
        }
    }
    throw Error(fmt::format("{} cannot be opened; install it, or give its directory in TRIFOLD_PEERS", fmt::join(names, " or ")));
}

void* Library::address(const char* name) const {
    auto* found = ::dlsym(handle_, name);
    if (found == nullptr) throw Error(fmt::format("{} has no {}", name_, name));
    return found;
}

void Library::fail(const char* name, int status) { throw Error(fmt::format("{} failed with status {}", name, status)); }

}  // namespace trifold::bench
