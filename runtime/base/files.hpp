#pragma once
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

/// A directory of this process alone (mode 0700), removed with everything in it.
class PrivateDirectory {
  public:
    /// Below `parent`; throws std::system_error.
    explicit PrivateDirectory(const std::filesystem::path& parent);
    /// Below $TMPDIR, /tmp or /dev/shm, whichever takes files.
    PrivateDirectory();
    PrivateDirectory(PrivateDirectory&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
    PrivateDirectory& operator=(PrivateDirectory&&) = delete;
    ~PrivateDirectory();
    const std::filesystem::path& path() const { return path_; }
    void keep() { path_.clear(); }  ///< leave it behind

  private:
    std::filesystem::path path_;
};

/// The whole file; nothing when it cannot be read. The second form reads `name` in an open directory, and takes only regular files
/// of at most 1 GiB: whatever else lies in a damaged cache must not hold up the reader.
std::optional<std::string> read_file(const std::filesystem::path& path);
std::optional<std::string> read_file(const Descriptor& directory, const std::string& name);

/// Opens or creates a file of this user alone, never as descriptor 0 to 2, which the host may have closed: somebody's messages would be
/// written into it.
Descriptor open_to_write(const std::filesystem::path& path, int flags);

/// Creates or truncates; throws std::system_error. Not synchronized to the disk: who needs to know that a file is whole
/// after a power cut keeps its checksum.
void write_file(const std::filesystem::path& path, std::string_view text);

struct Ended {
    bool started = false;
    int status = 0;                ///< as waitpid gives it; -1 when somebody else reaped the process
    std::string output;            ///< standard output and error together
    std::string describe() const;  ///< "exited with status 1", "was killed by signal 9"
};
/// Runs a program without a shell, in the C locale, and waits for it.
Ended run_process(const std::vector<std::string>& arguments);

/// A file that belongs to this library: beside the code, in the lib or bin directory next to it, or where it was installed;
/// empty when there is none.
std::filesystem::path find_part(const std::string& name);

/// The executable that `command` names, searched in PATH unless it holds a slash; empty when there is none.
std::filesystem::path find_executable(const std::string& command);

/// The machine that this is, and that CPU kernels are compiled for, such as "x86_64-linux-gnu".
std::string host_triple();

}  // namespace trifold
