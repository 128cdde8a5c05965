#pragma once
#include <string>
#include <vector>

namespace trifold::clang_plugin {

/// Links relocatable objects into the shared object `output`: a device's when an emulation is given, which needs no libraries. One link
/// runs at a time. Returns the linker's messages; empty when all went well.
std::string link_shared(const std::vector<std::string>& inputs, const std::string& output, const char* emulation);

}  // namespace trifold::clang_plugin
