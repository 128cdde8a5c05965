#include "tools/tune/sweep.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <mutex>
#include <thread>
#include <trifold/error.hpp>

#include "runtime/base/files.hpp"
#include "runtime/base/limits.hpp"
#include "runtime/base/process.hpp"
#include "runtime/compile/cache.hpp"
#include "tools/formats/file.hpp"

namespace trifold::tune {
namespace {

using nlohmann::json;

constexpr std::int64_t max_points_at_once = 6;
constexpr std::int64_t share_of_memory = 8;  // of the device's, for the data of all points that are in search
constexpr int max_processes = 50;            // of a point, each of which ended within a trial
constexpr std::size_t max_words = 4096;      // that a process says other than events: the last are what matters

void check_cache() {
    if (const auto cache = Cache::from_environment(); cache.path().empty() || !cache.writable())
        throw CacheError(
            fmt::format("candidates are compiled into the cache, and there is none that can be written to{}{}; set "
                        "TRIFOLD_CACHE_DIR to a directory of yours",
                        cache.problem().empty() ? "" : ": ", cache.problem()));
}

std::int64_t points_at_once(const std::vector<Point>& points, const Device& device) {
    if (device.backend() == Backend::cpu) return 1;
    std::int64_t largest = 1;
    for (const auto& point : points) largest = std::max(largest, data_bytes(point));
    return std::clamp<std::int64_t>(device.memory_bytes() / share_of_memory / largest, 1, max_points_at_once);
}

/// Gives each line until the other end is closed.
void read_lines(int from, const auto& take) {
    std::string text;
    std::array<char, 4096> bytes{};
    for (;;) {
        const auto count = ::read(from, bytes.data(), bytes.size());
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) break;
        text.append(bytes.data(), static_cast<std::size_t>(count));
        for (auto end = text.find('\n'); end != std::string::npos; end = text.find('\n')) {
            take(text.substr(0, end));
            text.erase(0, end + 1);
        }
    }
    if (!text.empty()) take(text);
}

class Sweep {
  public:
    Sweep(std::vector<Point> points, const Log& log, const TuneOptions& options, const SweepListener& listener)
        : points_(std::move(points)),
          log_(log),
          options_(options),
          listener_(listener),
          device_(Device::parse(options.device)),
          machine_(machine_of(device_)),
          known_(log.read()) {
        report_.state.points = points_.size();
    }

    SweepReport run() {
        {
            // It ends behind the threads, which it stops.
            const std::jthread clock([&](const std::stop_token& stop) {
                for (; !stop.stop_requested(); std::this_thread::sleep_for(std::chrono::milliseconds(50)))
                    if (is_over()) stop_.request_stop();
            });
            std::vector<std::jthread> threads;
            for (auto k = points_at_once(points_, device_); k > 0; --k) threads.emplace_back([&] { work(); });
        }
        if (problem_) std::rethrow_exception(problem_);
        report_.state.seconds = seconds();
        report_.complete = report_.state.done == report_.state.points;
        return report_;
    }

  private:
    /// What the process of a point has said, and how it ended.
    struct Said {
        json trial, last;  ///< the one that it was in, and the end of its search
        bool has_kept = false;
        std::string words;
        Ended ended;
    };

    double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }
    bool is_over() const {
        return (options_.budget_seconds > 0 && seconds() > options_.budget_seconds) || (options_.stop != nullptr && *options_.stop);
    }

    void work() try {
        for (auto k = next_++; k < points_.size() && !stop_.stop_requested() && !is_over(); k = next_++) {
            const auto decision = known_decision(known_, machine_, points_[k], options_.effort);
            const auto result = decision ? PointResult{points_[k], decision, true, ""} : searched(points_[k]);
            if (!result) return;
            const std::scoped_lock lock(mutex_);
            ++report_.state.done;
            report_.results.push_back(*result);
            if (listener_.done) listener_.done(*result);
        }
    } catch (...) {
        const std::scoped_lock lock(mutex_);
        if (!problem_) problem_ = std::current_exception();
        stop_.request_stop();
    }

    /// By processes until one comes to an end. Nothing where the sweep is over before.
    std::optional<PointResult> searched(const Point& point) {
        for (int k = 1;; ++k) {
            const auto said = run(point);
            if (said.last.contains("error")) throw formats::OutputError(said.last["error"].get<std::string>());
            if (!said.last.is_null()) {
                const auto& decision = said.last["decision"];
                return PointResult{point, decision.is_null() ? std::nullopt : std::optional(decision_of(decision)), said.last["known"],
                                   said.last["why"]};
            }
            if (stop_.stop_requested()) return std::nullopt;
            if (!said.trial.is_null())
                blame(said);
            else if (!said.has_kept || k == max_processes)
                return PointResult{point, {}, false, fmt::format("its process {}: {}", said.ended.describe(), said.words)};
        }
    }

    Said run(const Point& point) {
        auto command = options_.command;
        command.insert(command.end(), {"search-point", task_text(point, log_, options_)});
        Pipe pipe(command.front());
        Said said;
        ProcessGroup group;
        int error = 0;
        const auto child = group.start(command, environment_of_process(), pipe.write_end.get(), error);
        pipe.write_end = Descriptor();
        said.words = child == 0 ? why_refused(error) : "";
        if (child == 0) return said;
        said.ended.started = true;
        const std::stop_callback end(stop_.get_token(), [&] { group.kill(); });
        read_lines(pipe.read_end.get(), [&](const std::string& line) { hear(said, line); });
        while (::waitpid(child, &said.ended.status, 0) < 0 && errno == EINTR) {
        }
        return said;
    }

    void hear(Said& said, const std::string& line) {
        const auto event = line.starts_with('{') ? json::parse(line, nullptr, false) : json();
        if (event.contains("trial"))
            said.trial = event["trial"];
        else if (event.contains("kept"))
            said.has_kept = true, count(event);
        else if (event.is_object())
            said.last = event;
        else
            said.words += line + "\n";
        if (said.words.size() > max_words) said.words.erase(0, said.words.size() - max_words);
    }

    /// Logs the trial within which a process ended.
    void blame(const Said& said) {
        auto trial = trial_of(said.trial);
        const bool timed_out = WIFSIGNALED(said.ended.status) && WTERMSIG(said.ended.status) == SIGALRM;
        trial.verdict = timed_out ? Verdict::times_out : Verdict::fails;
        trial.why = timed_out ? fmt::format("it had not ended after {:g} s on the device", options_.trial_seconds)
                              : fmt::format("the process that measured it {}", said.ended.describe());
        log_.append(trial);
        count({{"kept", to_string(trial.verdict)}, {"now", fmt::format("{}: {}", to_string(trial.point), trial.why)}});
    }

    void count(const json& event) {
        const std::scoped_lock lock(mutex_);
        auto& state = report_.state;
        ++state.trials;
        if (event["kept"] != "sound") ++state.failures[event["kept"]];
        state.now = event["now"];
        state.seconds = seconds();
        if (listener_.progress) listener_.progress(state);
    }

    const std::vector<Point> points_;
    const Log& log_;
    const TuneOptions& options_;
    const SweepListener& listener_;
    const Device device_;
    const Machine machine_;
    const Records known_;
    const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
    std::atomic<std::size_t> next_ = 0;
    std::stop_source stop_;
    std::mutex mutex_;
    SweepReport report_;
    std::exception_ptr problem_;
};

}  // namespace

SweepReport sweep(std::vector<Point> points, const Log& log, const TuneOptions& options, const SweepListener& listener) {
    check_cache();
    std::ranges::stable_sort(points, std::greater<>{}, &Point::seconds);
    return Sweep(std::move(points), log, options, listener).run();
}

std::optional<Decision> known_decision(const Records& records, const Machine& machine, const Point& point, Effort effort) {
    for (const auto& one : last_decisions(records.decisions))
        if (one.machine == machine && one.generator == generator_version() && identity_of(one.point) == identity_of(point) &&
            parse_effort(one.effort) >= effort)
            return one;
    return std::nullopt;
}

}  // namespace trifold::tune
