#include "runtime/base/files.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "runtime/base/limits.hpp"
#include "runtime/base/switches.hpp"

namespace trifold {
namespace fs = std::filesystem;
namespace {

constexpr off_t largest_entry_file = off_t{1} << 30;

/// The file that holds this code: a program, or the library it is part of; empty when that cannot be told.
fs::path this_file() {
    static const char here = 0;
    Dl_info about{};
    link_map* map = nullptr;
    if (::dladdr1(&here, &about, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0 || map == nullptr) return {};
    std::error_code ignored;  // the program itself has no name there, and argv[0] need not be a path
    return fs::canonical(*map->l_name == '\0' ? "/proc/self/exe" : map->l_name, ignored);
}

fs::path make_private(const fs::path& parent) {
    auto pattern = (parent / "trifold-XXXXXX").string();
    return ::mkdtemp(pattern.data()) == nullptr ? fs::path() : fs::path(pattern);
}

/// Candidates for the place of private directories: the first that takes files is used.
std::vector<fs::path> temporary_places() {
    std::vector<fs::path> result{"/tmp", "/dev/shm"};
    const fs::path asked = switch_value("TMPDIR");
    std::erase(result, asked);
    if (!asked.empty()) result.insert(result.begin(), asked);
    return result;
}

/// Locked as long as the process lives that made it, so that others can tell.
Descriptor hold(const fs::path& directory) {
    Descriptor held(directory.empty() ? -1 : ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (held) ::flock(held.get(), LOCK_SH | LOCK_NB);
    return held;
}

/// Whether a name is one that mkdtemp makes of "trifold-XXXXXX".
bool is_private_name(const std::string& name) {
    constexpr std::string_view start = "trifold-";
    const auto is_letter_or_digit = [](unsigned char letter) { return std::isalnum(letter) != 0; };
    return name.size() == start.size() + 6 && name.starts_with(start) &&
           std::all_of(name.begin() + start.size(), name.end(), is_letter_or_digit);
}

/// Why it is not read; 0: it is.
int problem_of_entry_file(const Descriptor& file) {
    struct stat about{};
    if (!file || ::fstat(file.get(), &about) != 0) return errno;
    if (!S_ISREG(about.st_mode)) return EISDIR;
    return about.st_size > largest_entry_file ? EFBIG : 0;
}

std::int64_t remove_with_bytes(const fs::path& directory) {
    const auto bytes = bytes_below(directory);
    std::error_code error;
    fs::remove_all(directory, error);
    return error ? 0 : bytes;
}

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
}

Descriptor::~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
}

PrivateDirectory::PrivateDirectory(const fs::path& parent) : path_(make_private(parent)), held_(hold(path_)) {
    if (path_.empty()) throw_refused("cannot make a directory in " + parent.string(), errno);
}

PrivateDirectory::PrivateDirectory() {
    for (const auto& parent : temporary_places()) {
        if (path_.empty()) path_ = make_private(parent);
    }
    if (path_.empty()) throw_refused("cannot make a temporary directory in $TMPDIR, /tmp or /dev/shm", errno);
    held_ = hold(path_);
}

PrivateDirectory::~PrivateDirectory() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
}

bool is_abandoned(const fs::path& directory) {
    struct stat about{};
    if (::lstat(directory.c_str(), &about) != 0 || !S_ISDIR(about.st_mode) || about.st_uid != ::geteuid()) return false;
    const auto modified = std::chrono::system_clock::from_time_t(about.st_mtim.tv_sec);
    if (modified + abandoned_after > std::chrono::system_clock::now()) return false;
    const Descriptor opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    return opened && (::flock(opened.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK);  // other errors: there are no locks here
}

std::int64_t remove_abandoned() {
    std::int64_t freed = 0;
    for (const auto& place : temporary_places()) {
        for (const auto& path : children(place)) {
            if (is_private_name(path.filename()) && is_abandoned(path)) freed += remove_with_bytes(path);
        }
    }
    return freed;
}

std::vector<fs::path> children(const fs::path& directory) {
    std::vector<fs::path> result;
    std::error_code ignored;
    for (fs::directory_iterator item(directory, ignored), end; item != end && !ignored; item.increment(ignored))
        result.push_back(item->path());
    return result;
}

std::int64_t bytes_below(const fs::path& directory) {
    std::int64_t sum = 0;
    std::error_code ignored;
    if (fs::is_regular_file(directory, ignored)) return static_cast<std::int64_t>(fs::file_size(directory, ignored));
    for (fs::recursive_directory_iterator item(directory, ignored), end; item != end; item.increment(ignored)) {
        if (ignored) break;
        std::error_code vanished;
        const auto size = item->is_regular_file(vanished) ? item->file_size(vanished) : 0;
        if (!vanished) sum += static_cast<std::int64_t>(size);
    }
    return sum;
}

std::optional<std::string> read_all(int fd) {
    std::string text;
    struct stat about{};
    if (::fstat(fd, &about) == 0 && about.st_size > 0) text.reserve(static_cast<std::size_t>(about.st_size) + 1);
    std::array<char, 65536> buffer;
    for (;;) {
        const auto count = ::read(fd, buffer.data(), buffer.size());
        if (count == 0) return text;
        if (count > 0) {
            text.append(buffer.data(), static_cast<std::size_t>(count));
        } else if (errno != EINTR) {
            return std::nullopt;
        }
    }
}

std::optional<std::string> read_file(const fs::path& path) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    return file ? read_all(file.get()) : std::nullopt;
}

std::optional<std::string> read_file(const Descriptor& directory, const std::string& name, int& error) {
    const Descriptor file(::openat(directory.get(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    error = problem_of_entry_file(file);
    if (error != 0) return std::nullopt;
    auto text = read_all(file.get());
    if (!text) error = errno;
    return text;
}

Descriptor above_standard(Descriptor file) {
    if (!file || file.get() > STDERR_FILENO) return file;
    return Descriptor(::fcntl(file.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
}

Descriptor open_to_write(const fs::path& path, int flags) {
    return above_standard(Descriptor(::open(path.c_str(), flags | O_CREAT | O_CLOEXEC, 0600)));
}

void write_file(const fs::path& path, std::string_view text) {
    const auto file = open_to_write(path, O_WRONLY | O_TRUNC);
    if (!file) throw_refused("cannot create " + path.string(), errno);
    while (!text.empty()) {
        const auto count = ::write(file.get(), text.data(), text.size());
        if (count >= 0) {
            text.remove_prefix(static_cast<std::size_t>(count));
        } else if (errno != EINTR) {
            throw_refused("cannot write " + path.string(), errno);
        }
    }
}

fs::path find_part(const std::string& name) {
    std::vector<fs::path> places;
    if (const auto directory = this_file().parent_path(); !directory.empty())
        places = {directory, directory / "../lib", directory / "../lib" / host_triple(), directory / "../bin", directory / "../../bin"};
    places.emplace_back(TRIFOLD_LIBRARY_DIRECTORY);
    places.emplace_back(TRIFOLD_BINARY_DIRECTORY);
    for (const auto& place : places) {
        std::error_code ignored;
        if (fs::exists(place / name, ignored)) return place / name;
    }
    return {};
}

fs::path find_executable(const std::string& command) {
    const auto runnable = [](const fs::path& path) {
        std::error_code ignored;
        return fs::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
    };
    if (command.find('/') != std::string::npos) return runnable(command) ? fs::path(command) : fs::path();
    const auto path = switch_value("PATH");
    for (std::size_t start = 0; start <= path.size();) {
        const auto end = std::min(path.find(':', start), path.size());
        if (end > start && runnable(fs::path(path.substr(start, end - start)) / command))
            return fs::path(path.substr(start, end - start)) / command;
        start = end + 1;
    }
    return {};
}

std::string host_triple() {
#if defined(__x86_64__)
    return "x86_64-linux-gnu";
#elif defined(__aarch64__)
    return "aarch64-linux-gnu";
#else
#error "CPU kernels run on x86-64 and 64-bit ARM"
#endif
}

}  // namespace trifold
