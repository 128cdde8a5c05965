#pragma once
#include <string>
#include <vector>

namespace trifold::clang_plugin {

/// Links relocatable objects into the shared object `output`. One link runs at a time. Returns the linker's messages; empty
/// when all went well.
std::string link_shared(const std::vector<std::string>& inputs, const std::string& output);

}  // namespace trifold::clang_plugin
