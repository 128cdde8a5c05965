#pragma once
#include <string_view>

namespace trifold {

/// Of all that the generator is made of, with the templates and facts of devices: what it wrote may be kept under this and its own input.
std::string_view generator_hash();

}  // namespace trifold
