#include "tools/tune/process.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>

#include "runtime/base/files.hpp"
#include "runtime/base/limits.hpp"
#include "runtime/base/process.hpp"

namespace trifold::tune {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t most_output = 4096;  // the last words are what matters
constexpr int slice_milliseconds = 20;

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
    Pipe pipe(arguments.front());
    Finished finished;
    ProcessGroup group;
    int error = 0;
    const auto child = group.start(arguments, environment_of_process(), pipe.write_end.get(), error);
    pipe.write_end = Descriptor();
    finished.started = child != 0;
    if (!finished.started) finished.output = why_refused(error);
    if (!finished.started) return finished;
    const auto end = Clock::now() + std::chrono::duration<double>(seconds);
    for (bool open = true; !has_ended(child, finished.status);) {
        finished.timed_out = Clock::now() >= end;
        finished.stopped = stop.stop_requested();
        if (finished.timed_out || finished.stopped) {
            group.kill();
            while (::waitpid(child, &finished.status, 0) < 0 && errno == EINTR) {
            }
            break;
        }
        if (open)
            open = read_some(pipe.read_end.get(), finished.output);
        else
            ::usleep(slice_milliseconds * 1000);
    }
    group.kill();  // what it may have started and left behind
    while (read_some(pipe.read_end.get(), finished.output)) {
        pollfd waiting{pipe.read_end.get(), POLLIN, 0};
        if (::poll(&waiting, 1, 0) <= 0) break;
    }
    if (finished.output.size() > most_output) finished.output.erase(0, finished.output.size() - most_output);
    return finished;
}

}  // namespace trifold::tune
