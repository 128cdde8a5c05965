#include "runtime/base/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <trifold/error.hpp>
#include <trifold/process.hpp>

#include "runtime/base/forks.hpp"
#include "runtime/base/gauges.hpp"
#include "runtime/base/limits.hpp"

extern char** environ;

namespace trifold {
namespace {

std::vector<char*> pointers(std::vector<std::string>& strings) {
    std::vector<char*> result;
    for (auto& string : strings) result.push_back(string.data());
    result.push_back(nullptr);
    return result;
}

/// Takes the place of the variable in an environment.
void set_variable(std::vector<std::string>& environment, const std::string& name, const std::string& value) {
    std::erase_if(environment, [&](const std::string& entry) { return entry.starts_with(name + "="); });
    environment.push_back(name + "=" + value);
}

/// The descriptors that a child finds as its 0 to 2. Negative: /dev/null.
struct Standard {
    int input = -1, output = -1;
};

pid_t spawn(std::vector<std::string> arguments, std::vector<std::string> environment, Standard standard, pid_t group, int& error) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    const auto place = [&](int from, int to, int flags) {
        if (from < 0)
            posix_spawn_file_actions_addopen(&actions, to, "/dev/null", flags, 0);
        else
            posix_spawn_file_actions_adddup2(&actions, from, to);
    };
    place(standard.input, STDIN_FILENO, O_RDONLY);
    place(standard.output, STDOUT_FILENO, O_WRONLY);
    place(standard.output, STDERR_FILENO, O_WRONLY);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&attributes, group);
    pid_t child = 0;
    error =
        ::posix_spawn(&child, arguments.front().c_str(), &actions, &attributes, pointers(arguments).data(), pointers(environment).data());
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error == 0 ? child : 0;
}

void reap(pid_t child, int& status) {
    while (::waitpid(child, &status, 0) < 0) {
        if (errno == EINTR) continue;
        status = -1;  // the host ignores SIGCHLD or waits for every child itself
        break;
    }
}

bool is_limit(int error) { return error == EMFILE || error == ENFILE || error == EAGAIN || error == ENOMEM; }

}  // namespace

Pipe::Pipe(const std::string& to) {
    std::array<int, 2> ends{};
    const bool made = ::pipe2(ends.data(), O_CLOEXEC) == 0;
    if (made) read_end = above_standard(Descriptor(ends[0]));
    if (made) write_end = above_standard(Descriptor(ends[1]));
    if (!read_end || !write_end) throw_refused("cannot make a pipe to " + to, errno);
}

ProcessGroup::ProcessGroup() {
    try {
        const std::string shell = "/bin/sh";
        Pipe pipe(shell);
        int error = 0;
        keeper_ = spawn({shell, "-c", "read -r line; kill -9 0", "trifold-keeper"}, {}, {.input = pipe.read_end.get()}, 0, error);
        if (keeper_ != 0) held_ = std::move(pipe.write_end);
    } catch (const DeviceError&) {
        // Then without: the program itself may still start.
    }
    id_ = keeper_;
}

ProcessGroup::~ProcessGroup() {
    kill();
    int ignored = 0;
    if (keeper_ != 0) reap(keeper_, ignored);
}

void ProcessGroup::kill() const {
    if (id_ != 0) ::kill(-id_, SIGKILL);
}

pid_t ProcessGroup::start(std::vector<std::string> arguments, std::vector<std::string> environment, int output, int& error) {
    const auto child = spawn(std::move(arguments), std::move(environment), {.output = output}, id_, error);
    if (id_ == 0) id_ = child;
    return child;
}

std::vector<std::string> environment_of_process() {
    std::vector<std::string> result;
    for (char** entry = environ; *entry != nullptr; ++entry) result.emplace_back(*entry);
    return result;
}

std::string Ended::describe() const {
    if (!started) return "could not be started: " + output;
    if (status == -1) return "ended with an unknown status";
    if (WIFSIGNALED(status)) return fmt::format("was killed by signal {}", WTERMSIG(status));
    return fmt::format("exited with status {}", WEXITSTATUS(status));
}

Ended run_process(const std::vector<std::string>& arguments, const std::filesystem::path& scratch) {
    Pipe pipe(arguments.front());
    auto environment = environment_of_process();
    set_variable(environment, "LC_ALL", "C");  // the messages of tools in plain English
    if (!scratch.empty()) set_variable(environment, "TMPDIR", scratch);
    ProcessGroup group;
    Ended ended;
    int error = 0;
    const auto child = group.start(arguments, std::move(environment), pipe.write_end.get(), error);
    if (is_limit(error)) throw_refused("cannot start " + arguments.front(), error);
    if (child == 0) {
        ended.output = std::strerror(error);
        return ended;
    }
    ended.started = true;
    pipe.write_end = Descriptor();
    ended.output = read_all(pipe.read_end.get()).value_or("");
    reap(child, ended.status);
    return ended;
}

ProcessReport process_report() {
    const auto& [compilations, microseconds, binaries, modules, plans, solvers] = gauges;
    return {.compilations = compilations,
            .compile_seconds = 1e-6 * static_cast<double>(microseconds),
            .plans = plans.count,
            .solvers = solvers.count,
            .workspace_bytes = solvers.bytes,
            .modules = modules.count,
            .module_bytes = modules.bytes,
            .binaries = binaries.count,
            .binary_bytes = binaries.bytes};
}

int forks() noexcept {
    static std::atomic<int> count = 0;
    static const int registered = ::pthread_atfork(nullptr, nullptr, [] { ++count; });
    static_cast<void>(registered);
    return count;
}

}  // namespace trifold
