#pragma once
#include <string>

namespace trifold::clang_plugin {

/// Links the relocatable object `input` into the shared object `output`. One link runs at a time. Returns the linker's messages; empty when
/// all went well.
std::string link_shared(const std::string& input, const std::string& output);

}  // namespace trifold::clang_plugin
