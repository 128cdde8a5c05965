#pragma once
#include <string>
#include <string_view>

namespace trifold {

/// 64 hex digits.
std::string sha256(std::string_view bytes);

}  // namespace trifold
