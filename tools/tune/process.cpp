#include "tools/tune/process.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <utility>

#include "runtime/base/files.hpp"
#include "runtime/base/limits.hpp"
#include "runtime/base/process.hpp"

namespace trifold::tune {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t max_output = 4096, max_line = 1 << 20;  // the last words are what matters
constexpr double max_seconds = 1e9;                           // in the range of the clock
constexpr int slice_milliseconds = 20;

/// The output of a process: its lines are handed on, and its end is kept.
class Output {
  public:
    explicit Output(const std::function<void(const std::string&)>& take) : take_(take) {}
    /// Reads what comes within that many milliseconds. False at the end.
    bool read_some(int from, int milliseconds) {
        pollfd waiting{from, POLLIN, 0};
        if (::poll(&waiting, 1, milliseconds) <= 0) return milliseconds > 0;
        std::array<char, 4096> bytes{};
        const auto count = ::read(from, bytes.data(), bytes.size());
        for (ssize_t k = 0; k < count; ++k) add(bytes[static_cast<std::size_t>(k)]);
        return count > 0 || (count < 0 && errno == EINTR);
    }
    std::string end() const { return text_.size() > max_output ? text_.substr(text_.size() - max_output) : text_; }

  private:
    void add(char letter) {
        text_ += letter;
        if (text_.size() > 2 * max_output) text_.erase(0, text_.size() - max_output);
        if (letter == '\n')
            take_(std::exchange(line_, {}));
        else if (line_.size() < max_line)
            line_ += letter;
    }
    const std::function<void(const std::string&)>& take_;
    std::string text_, line_;
};

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

Finished run_limited(const std::vector<std::string>& arguments, double seconds, const std::stop_token& stop,
                     const std::function<double(const std::string&)>& seen) {
    Pipe pipe(arguments.front());
    Finished finished;
    ProcessGroup group;
    int error = 0;
    const auto child = group.start(arguments, environment_of_process(), pipe.write_end.get(), error);
    pipe.write_end = Descriptor();
    finished.started = child != 0;
    if (!finished.started) finished.output = why_refused(error);
    if (!finished.started) return finished;
    const auto in = [](double from_now) { return Clock::now() + std::chrono::duration<double>(std::min(from_now, max_seconds)); };
    auto end = in(seconds);
    const std::function<void(const std::string&)> take = [&](const std::string& line) {
        if (seen) end = in(seen(line));
    };
    Output output(take);
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
            open = output.read_some(pipe.read_end.get(), slice_milliseconds);
        else
            ::usleep(slice_milliseconds * 1000);
    }
    group.kill();  // what it may have started and left behind
    while (output.read_some(pipe.read_end.get(), 0)) {
    }
    finished.output = output.end();
    return finished;
}

}  // namespace trifold::tune
