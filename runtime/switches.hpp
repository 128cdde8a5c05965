#pragma once
#include <string>
#include <string_view>

namespace trifold {

/// Every environment variable is read here and described in docs/switches.md; nothing else calls getenv.
/// Unset and empty are the same.
std::string switch_value(const char* name);

/// Whether the comma-separated list of TRIFOLD_DISABLE or TRIFOLD_DUMP holds `word`.
bool disabled(std::string_view word);
bool dumped(std::string_view word);

}  // namespace trifold
