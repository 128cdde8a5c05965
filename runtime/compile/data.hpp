#pragma once
#include <filesystem>
#include <optional>
#include <string>

#include "runtime/compile/cache.hpp"

namespace trifold {

/// A file of data of the cache: pieces of bytes, then a list of their checksums with the key, then the list's own checksum and length.
/// Several threads read, write and sum. `problem` says what is wrong with a file that is there. Nothing where there is none.
std::optional<CacheData> read_data(const std::filesystem::path& path, const std::string& key, std::string& problem);
/// Throws DeviceError.
void write_data(const std::filesystem::path& path, const std::string& key, const std::vector<std::span<const std::byte>>& pieces);

}  // namespace trifold
