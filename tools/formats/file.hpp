#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <trifold/error.hpp>

namespace trifold::formats {

/// A file that cannot be opened, is not what it should be, or holds values that cannot be used.
class InputError : public Error {
    using Error::Error;
};

/// The problem does not fit this machine's memory.
class MemoryError : public Error {
    using Error::Error;
};

/// The disk is full or failed while a result was written. Nothing half written is left behind.
class OutputError : public Error {
    using Error::Error;
};

/// The whole of a regular file or pipe. Throws InputError (missing, a directory, empty, unreadable).
std::string read_file(const std::filesystem::path& path);

/// All of standard input. Throws InputError (closed, a terminal or another device, empty, unreadable).
std::string read_standard_input();

/// Text about a file that cannot be read, but is easily made one that can: what it is and what to do, as a clause. Otherwise "".
std::string_view foreign_kind(std::string_view bytes);

/// A directory of that name, made with those above it where there is none. Throws InputError.
std::filesystem::path make_directory(const std::string& name);

/// Throws InputError when `path` is a directory, or its directory does not exist or may not be written.
void check_writable(const std::filesystem::path& path);

/// Throws OutputError when standard output cannot take it all.
void write_standard_output(std::string_view bytes);

/// Replaces the file as a whole: written under another name in its folder, flushed, renamed. A symbolic link is followed, and devices and
/// pipes are written directly. Throws InputError (cannot be opened) or OutputError (could not be written in full).
void write_file(const std::filesystem::path& path, std::string_view bytes);

}  // namespace trifold::formats
