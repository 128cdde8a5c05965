#include "tools/formats/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace trifold::formats {
namespace {

namespace fs = std::filesystem;

class Descriptor {
  public:
    explicit Descriptor(int value) : value_(value) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() {
        if (value_ >= 0) ::close(value_);
    }
    int get() const { return value_; }
    /// Some file systems report a failed write only here.
    bool close() { return ::close(std::exchange(value_, -1)) == 0; }

  private:
    int value_;
};

std::string reason() { return std::strerror(errno); }

bool write_all(int descriptor, std::string_view bytes) {
    while (!bytes.empty()) {
        const auto written = ::write(descriptor, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
}

/// File that the bytes go to: what `path` points to when it is a link, even one whose target does not exist yet.
fs::path resolve(fs::path path) {
    std::error_code ignored;
    constexpr int max_links = 40;  // as the kernel has it
    for (int k = 0; k < max_links && fs::is_symlink(path, ignored); ++k) path = path.parent_path() / fs::read_symlink(path, ignored);
    return path;
}

void write_device(const fs::path& path, std::string_view bytes) {
    Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (file.get() < 0) throw InputError(fmt::format("cannot open '{}' for writing: {}", path.string(), reason()));
    if (!write_all(file.get(), bytes) || !file.close()) throw OutputError(fmt::format("cannot write '{}': {}", path.string(), reason()));
}

void write_beside_and_rename(const fs::path& path, std::string_view bytes) {
    const auto staged = fmt::format("{}.{}.partial", path.string(), ::getpid());
    Descriptor file(::open(staged.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666));
    if (file.get() < 0) throw InputError(fmt::format("cannot write '{}': {}", path.string(), reason()));
    const bool written = write_all(file.get(), bytes) && ::fsync(file.get()) == 0 && file.close();
    if (written && ::rename(staged.c_str(), path.c_str()) == 0) return;
    const auto why = reason();
    ::unlink(staged.c_str());
    throw OutputError(fmt::format("cannot write '{}': {}; nothing was left behind", path.string(), why));
}

struct stat status_of(int descriptor, const std::string& name) {
    struct stat status{};
    if (::fstat(descriptor, &status) != 0) throw InputError(fmt::format("cannot read {}: {}", name, reason()));
    return status;
}

std::string read_all(int descriptor, const struct stat& status, const std::string& name) {
    std::string bytes;
    if (S_ISREG(status.st_mode)) bytes.reserve(static_cast<std::size_t>(status.st_size));
    constexpr std::size_t piece = std::size_t{1} << 20;
    for (;;) {
        const auto size = bytes.size();
        bytes.resize(size + piece);
        const auto count = ::read(descriptor, bytes.data() + size, piece);
        bytes.resize(size + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) throw InputError(fmt::format("cannot read {}: {}", name, reason()));
        if (count == 0) break;
    }
    if (bytes.empty()) throw InputError(name + " is empty");
    return bytes;
}

}  // namespace

std::string read_file(const fs::path& path) {
    const auto name = fmt::format("'{}'", path.string());
    Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.get() < 0) throw InputError(fmt::format("cannot read {}: {}", name, reason()));
    const auto status = status_of(file.get(), name);
    if (S_ISDIR(status.st_mode)) throw InputError(name + " is a directory; give a file");
    if (!S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode)) throw InputError(name + " is neither a file nor a pipe; give a file");
    return read_all(file.get(), status, name);
}

std::string read_standard_input() {
    const std::string name = "standard input";
    const auto status = status_of(STDIN_FILENO, name);
    if (S_ISDIR(status.st_mode))
        throw InputError(name + " is closed, or a directory; pipe a file into it");  // main puts one where it is closed
    if (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode)) throw InputError(name + " is a terminal or a device; pipe a file into it");
    return read_all(STDIN_FILENO, status, name);
}

std::string_view foreign_kind(std::string_view bytes) {
    using namespace std::literals;
    static constexpr std::pair<std::string_view, std::string_view> kinds[]{
        {"\xEF\xBB\xBF"sv, "it begins with a byte order mark; save it as UTF-8 without one"},
        {"\xFF\xFE"sv, "it is text in UTF-16; save it as ASCII or UTF-8 (iconv -f UTF-16 -t UTF-8)"},
        {"\xFE\xFF"sv, "it is text in UTF-16; save it as ASCII or UTF-8 (iconv -f UTF-16 -t UTF-8)"},
        {"\x1F\x8B"sv, "it is compressed by gzip; unpack it first (gunzip)"},
        {"BZh"sv, "it is compressed by bzip2; unpack it first (bunzip2)"},
        {"\xFD\x37zXZ"sv, "it is compressed by xz; unpack it first (unxz)"},
        {"\x28\xB5\x2F\xFD"sv, "it is compressed by zstd; unpack it first (unzstd)"},
        {"PK\x03\x04"sv, "it is a zip archive, as .npz files are; give the files in it (unzip)"},
    };
    for (const auto& [start, advice] : kinds)
        if (bytes.starts_with(start)) return advice;
    return {};
}

fs::path make_directory(const std::string& name) {
    std::error_code error;
    fs::create_directories(name, error);
    if (error || !fs::is_directory(name)) {
        const auto why = error ? error.message() : "it is not a directory";
        throw InputError(fmt::format("cannot make the directory '{}': {}", name, why));
    }
    return name;
}

void check_writable(const fs::path& path) {
    std::error_code ignored;
    const auto target = resolve(path);
    if (fs::is_directory(target, ignored)) throw InputError(fmt::format("'{}' is a directory; give a file to write", path.string()));
    const auto directory = target.has_parent_path() ? target.parent_path() : fs::path(".");
    if (!fs::is_directory(directory, ignored))
        throw InputError(fmt::format("cannot write '{}': there is no directory '{}'", path.string(), directory.string()));
    const bool device = fs::exists(target, ignored) && !fs::is_regular_file(target, ignored);
    if (::access(device ? target.c_str() : directory.c_str(), W_OK) != 0)
        throw InputError(fmt::format("cannot write '{}': {}", path.string(), reason()));
}

void write_standard_output(std::string_view bytes) {
    const bool written = std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size() && std::fflush(stdout) == 0;
    if (!written) throw OutputError(fmt::format("cannot write to standard output: {}", reason()));
}

void write_file(const fs::path& path, std::string_view bytes) {
    check_writable(path);
    std::error_code ignored;
    const auto target = resolve(path);
    const bool device = fs::exists(target, ignored) && !fs::is_regular_file(target, ignored);
    if (device)
        write_device(target, bytes);
    else
        write_beside_and_rename(target, bytes);
}

}  // namespace trifold::formats
