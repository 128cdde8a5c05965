#pragma once
#include <filesystem>
#include <string_view>

namespace trifold {

/// Appends to a file, which is made where there is none, by one write: so lines of several processes stay whole. Waits for nothing and
/// allocates nothing. Null, or why not all of it was written.
const char* append_line(const std::filesystem::path& path, std::string_view line);

}  // namespace trifold
