#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trifold {

/// An open file or directory descriptor, closed at the end of its scope and on exec.
class Descriptor {
  public:
    explicit Descriptor(int fd = -1) : fd_(fd) {}
    Descriptor(Descriptor&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
    Descriptor& operator=(Descriptor&& other) noexcept;
    ~Descriptor();
    int get() const { return fd_; }
    explicit operator bool() const { return fd_ >= 0; }

  private:
    int fd_;
};

/// A directory of this process alone (mode 0700), removed with everything in it. It stays where the process is killed; see is_abandoned.
class PrivateDirectory {
  public:
    /// Below `parent`; throws DeviceError.
    explicit PrivateDirectory(const std::filesystem::path& parent);
    /// Below $TMPDIR, /tmp or /dev/shm, whichever takes files.
    PrivateDirectory();
    PrivateDirectory(PrivateDirectory&& other) noexcept : path_(std::move(other.path_)), held_(std::move(other.held_)) {
        other.path_.clear();
    }
    PrivateDirectory& operator=(PrivateDirectory&&) = delete;
    ~PrivateDirectory();
    const std::filesystem::path& path() const { return path_; }
    void keep() { path_.clear(); }  ///< leave it behind

  private:
    std::filesystem::path path_;
    Descriptor held_;  ///< locked, which tells others that this process lives
};

constexpr std::chrono::hours abandoned_after{1};
/// Whether this private directory of the user's is older than that, and no living process holds it.
bool is_abandoned(const std::filesystem::path& directory);
/// Removes the abandoned directories where temporary ones are made: $TMPDIR, /tmp and /dev/shm. Returns bytes freed.
std::int64_t remove_abandoned();

/// The entries of a directory; empty when it cannot be read.
std::vector<std::filesystem::path> children(const std::filesystem::path& directory);
/// Bytes of all files below, as far as they can be read; of a file its own.
std::int64_t bytes_below(const std::filesystem::path& directory);

/// The whole file; nothing when it cannot be read. The second form reads `name` in an open directory, and takes only regular files
/// of at most 1 GiB: whatever else lies in a damaged cache must not hold up the reader. `error` is then why: EISDIR, EFBIG or what the
/// system said; 0 when it was read.
std::optional<std::string> read_file(const std::filesystem::path& path);
std::optional<std::string> read_file(const Descriptor& directory, const std::string& name, int& error);
/// To the end; nothing, and errno, when that fails.
std::optional<std::string> read_all(int fd);

/// Moves a file to a descriptor above 2: the host may have closed 0 to 2, and messages for these would be written into the file.
Descriptor above_standard(Descriptor file);

/// Opens or creates a file of this user alone, above_standard.
Descriptor open_to_write(const std::filesystem::path& path, int flags);

/// Creates or truncates; throws DeviceError. Not synchronized to the disk: who needs to know that a file is whole
/// after a power cut keeps its checksum.
void write_file(const std::filesystem::path& path, std::string_view text);

/// A file that belongs to this library: in the folder of the code, in the lib or bin directory next to it, or where it was installed;
/// empty when there is none.
std::filesystem::path find_part(const std::string& name);

/// The executable that `command` names, searched in PATH unless it holds a slash; empty when there is none.
std::filesystem::path find_executable(const std::string& command);

/// The machine that this is, and that CPU kernels are compiled for, such as "x86_64-linux-gnu".
std::string host_triple();

}  // namespace trifold
