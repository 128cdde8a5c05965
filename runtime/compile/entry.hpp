#pragma once
#include <filesystem>
#include <string>
#include <trifold/binary.hpp>

#include "runtime/base/files.hpp"

namespace trifold {

/// What an entry directory says about itself in meta.json.
struct EntryMeta {
    std::string key, name, target, compiler;
    std::vector<KernelResources> kernels;
};

/// Writes the files of an entry into an existing, private directory. Throws std::system_error.
void write_entry(const std::filesystem::path& directory, const Binary& binary, const Unit& unit);

struct EntryContent {
    EntryMeta meta;
    Binary binary;
    std::string problem;  ///< why it is not to be used; empty: every byte is as written
    bool absent = false;  ///< the directory is being removed: not a bad entry, just none
};
/// Reads and checks every byte of the entry that should have `key`.
EntryContent read_entry(const Descriptor& directory, const std::string& key);

/// Only meta.json, for listings.
EntryContent read_entry_meta(const Descriptor& directory, const std::string& key);

/// ".c", ".cu" or ".hip"; ".so", ".cubin" or ".hsaco".
std::string source_extension(Backend backend);
std::string binary_extension(Backend backend);
/// The files of an entry, such as "kernel.c" and "kernel.so".
std::string source_file(Backend backend);
std::string binary_file(Backend backend);

}  // namespace trifold
