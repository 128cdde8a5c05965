#pragma once
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <trifold/binary.hpp>
#include <vector>

#include "runtime/base/files.hpp"

namespace trifold {

/// The facts about an entry that its meta.json holds.
struct EntryMeta {
    std::string key, name, target, compiler;
    std::vector<KernelResources> kernels;
};

/// Files of an entry. kernels: without the source and the log, which only people read.
enum class Parts { all, kernels };

/// Writes the files of an entry into an existing, private directory. Throws DeviceError.
void write_entry(const std::filesystem::path& directory, const Binary& binary, const Unit& unit, Parts parts);

/// State of an entry that was read. damaged: a byte, or a file, is not what was written. unreadable: that could not be found out, for want
/// of descriptors or memory for example, so that it may be sound. absent: its directory is being removed.
enum class EntryState { sound, damaged, unreadable, absent };

struct EntryContent {
    EntryMeta meta;
    Binary binary;
    EntryState state = EntryState::sound;
    std::string problem;  ///< why it is not to be used; empty: it is sound
};
/// Reads and checks the entry that should have `key`. Its source and log may be unreadable: it is used without them.
EntryContent read_entry(const Descriptor& directory, const std::string& key);

/// Only meta.json, for listings.
EntryContent read_entry_meta(const Descriptor& directory, const std::string& key);

/// ".c", ".cu" or ".hip"; ".so", ".cubin" or ".hsaco".
std::string source_extension(Backend backend);
std::string binary_extension(Backend backend);
/// The files of an entry, such as "kernel.c" and "kernel.so".
std::string source_file(Backend backend);
std::string binary_file(Backend backend);

/// Bytes that take long to make and are no binary, in pieces. Those that were found lie in `memory`.
struct CacheData {
    std::vector<std::span<const std::byte>> pieces;
    std::shared_ptr<const std::byte[]> memory;
};
/// A file of data of the cache: pieces of bytes, then a list of their checksums with the key, then the list's own checksum and length.
/// Several threads read, write and sum. `problem` says what is wrong with a file that is there. Nothing where there is none.
std::optional<CacheData> read_data(const std::filesystem::path& path, const std::string& key, std::string& problem);
/// Throws DeviceError.
void write_data(const std::filesystem::path& path, const std::string& key, const std::vector<std::span<const std::byte>>& pieces);

}  // namespace trifold
