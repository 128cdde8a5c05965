#pragma once
#include <string_view>

namespace trifold {

/// A hash of all files that the generator is made of, with templates and facts of devices: what it wrote may be kept under it and its
/// input.
std::string_view generator_hash();

}  // namespace trifold
