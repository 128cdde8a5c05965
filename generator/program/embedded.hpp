#pragma once
#include <string_view>
#include <vector>

namespace trifold {

/// The texts that are part of the program. embed.cmake writes these functions. Throws SpecError when there is no text of that name.
std::string_view embedded_text(std::string_view name);

/// All names, sorted.
std::vector<std::string_view> embedded_names();

}  // namespace trifold
