#include "tools/tune/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <system_error>

#include "runtime/base/files.hpp"

extern char** environ;

namespace trifold::tune {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t most_output = 4096;  // the last words are what matters
constexpr int slice_milliseconds = 20;

pid_t spawn(std::vector<std::string> arguments, int output, std::string& problem) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output, 1);
    posix_spawn_file_actions_adddup2(&actions, output, 2);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&attributes, 0);
    std::vector<char*> pointers;
    for (auto& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    pid_t child = 0;
    const int error = ::posix_spawn(&child, pointers.front(), &actions, &attributes, pointers.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) problem = std::strerror(error);
    return error == 0 ? child : 0;
}

/// What there is to read within a slice of time. False at the end.
bool read_some(int from, std::string& output) {
    pollfd waiting{from, POLLIN, 0};
    if (::poll(&waiting, 1, slice_milliseconds) <= 0) return true;
    std::array<char, 4096> bytes{};
    const auto count = ::read(from, bytes.data(), bytes.size());
    if (count > 0) output.append(bytes.data(), static_cast<std::size_t>(count));
    if (output.size() > 2 * most_output) output.erase(0, output.size() - most_output);
    return count > 0 || (count < 0 && errno == EINTR);
}

bool has_ended(pid_t child, int& status) {
    const auto ended = ::waitpid(child, &status, WNOHANG);
    return ended == child || (ended < 0 && errno != EINTR);
}

}  // namespace

std::string Finished::describe() const {
    if (!started) return fmt::format("could not be started: {}", output);
    if (stopped) return "was stopped";
    if (timed_out) return "had not ended in time, and was killed";
    if (WIFSIGNALED(status)) return fmt::format("was killed by signal {}", WTERMSIG(status));
    return fmt::format("exited with status {}", WEXITSTATUS(status));
}

Finished run_limited(const std::vector<std::string>& arguments, double seconds, const std::stop_token& stop) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "cannot make a pipe");
    const Descriptor read_end(ends[0]);
    Descriptor write_end(ends[1]);
    Finished finished;
    const auto child = spawn(arguments, write_end.get(), finished.output);
    write_end = Descriptor();
    if (child == 0) return finished;
    finished.started = true;
    const auto end = Clock::now() + std::chrono::duration<double>(seconds);
    for (bool open = true; !has_ended(child, finished.status);) {
        finished.timed_out = Clock::now() >= end;
        finished.stopped = stop.stop_requested();
        if (finished.timed_out || finished.stopped) {
            ::kill(-child, SIGKILL);
            while (::waitpid(child, &finished.status, 0) < 0 && errno == EINTR) {
            }
            break;
        }
        if (open)
            open = read_some(read_end.get(), finished.output);
        else
            ::usleep(slice_milliseconds * 1000);
    }
    ::kill(-child, SIGKILL);  // what it may have started and left behind
    while (read_some(read_end.get(), finished.output)) {
        pollfd waiting{read_end.get(), POLLIN, 0};
        if (::poll(&waiting, 1, 0) <= 0) break;
    }
    if (finished.output.size() > most_output) finished.output.erase(0, finished.output.size() - most_output);
    return finished;
}

}  // namespace trifold::tune
