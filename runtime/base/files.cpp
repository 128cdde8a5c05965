#include "runtime/base/files.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <link.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "runtime/base/switches.hpp"

extern char** environ;

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

[[noreturn]] void fail(const std::string& what) { throw std::system_error(errno, std::generic_category(), what); }

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

fs::path make_private(const fs::path& parent) {
    auto pattern = (parent / "trifold-XXXXXX").string();
    return ::mkdtemp(pattern.data()) == nullptr ? fs::path() : fs::path(pattern);
}

/// The environment with the messages of tools in plain English.
std::vector<std::string> c_locale() {
    std::vector<std::string> result{"LC_ALL=C"};
    for (char** entry = environ; *entry != nullptr; ++entry) {
        if (std::strncmp(*entry, "LC_ALL=", 7) != 0) result.emplace_back(*entry);
    }
    return result;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
    std::vector<char*> result;
    for (auto& string : strings) result.push_back(string.data());
    result.push_back(nullptr);
    return result;
}

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
}

Descriptor::~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
}

PrivateDirectory::PrivateDirectory(const fs::path& parent) : path_(make_private(parent)) {
    if (path_.empty()) fail("cannot make a directory in " + parent.string());
}

PrivateDirectory::PrivateDirectory() {
    for (const fs::path& parent : {fs::path(switch_value("TMPDIR")), fs::path("/tmp"), fs::path("/dev/shm")}) {
        if (path_.empty() && !parent.empty()) path_ = make_private(parent);
    }
    if (path_.empty()) fail("cannot make a temporary directory in $TMPDIR, /tmp or /dev/shm");
}

PrivateDirectory::~PrivateDirectory() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
}

std::optional<std::string> read_file(const fs::path& path) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    return file ? read_all(file.get()) : std::nullopt;
}

std::optional<std::string> read_file(const Descriptor& directory, const std::string& name) {
    const Descriptor file(::openat(directory.get(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat about{};
    if (!file || ::fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode) || about.st_size > largest_entry_file) return std::nullopt;
    return read_all(file.get());
}

Descriptor open_to_write(const fs::path& path, int flags) {
    Descriptor file(::open(path.c_str(), flags | O_CREAT | O_CLOEXEC, 0600));
    if (!file || file.get() > STDERR_FILENO) return file;
    return Descriptor(::fcntl(file.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
}

void write_file(const fs::path& path, std::string_view text) {
    const auto file = open_to_write(path, O_WRONLY | O_TRUNC);
    if (!file) fail("cannot create " + path.string());
    while (!text.empty()) {
        const auto count = ::write(file.get(), text.data(), text.size());
        if (count >= 0) {
            text.remove_prefix(static_cast<std::size_t>(count));
        } else if (errno != EINTR) {
            fail("cannot write " + path.string());
        }
    }
}

std::string Ended::describe() const {
    if (!started) return "could not be started: " + output;
    if (status == -1) return "ended with an unknown status";
    if (WIFSIGNALED(status)) return fmt::format("was killed by signal {}", WTERMSIG(status));
    return fmt::format("exited with status {}", WEXITSTATUS(status));
}

Ended run_process(const std::vector<std::string>& arguments) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail("cannot make a pipe");
    const Descriptor read_end(ends[0]);
    Descriptor write_end(ends[1]);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
    auto texts = arguments;
    auto variables = c_locale();
    Ended ended;
    pid_t child = 0;
    const int error = ::posix_spawn(&child, texts.front().c_str(), &actions, nullptr, pointers(texts).data(), pointers(variables).data());
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) {
        ended.output = std::strerror(error);
        return ended;
    }
    ended.started = true;
    write_end = Descriptor();
    ended.output = read_all(read_end.get()).value_or("");
    while (::waitpid(child, &ended.status, 0) < 0) {
        if (errno == EINTR) continue;
        ended.status = -1;  // the host ignores SIGCHLD or waits for every child itself
        break;
    }
    return ended;
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
