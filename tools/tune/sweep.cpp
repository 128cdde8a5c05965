#include "tools/tune/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>
#include <trifold/error.hpp>

#include "runtime/compile/cache.hpp"
#include "tools/formats/file.hpp"
#include "tools/tune/process.hpp"

namespace trifold::tune {
namespace {

constexpr std::int64_t max_points_at_once = 6;
constexpr std::int64_t share_of_memory = 8;  // of the device's, for the data of all points that are in search
constexpr int max_processes = 50;            // of a point, each of which ended within a trial
constexpr double seconds_to_begin = 120;     // a driver may be slow to start

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
    for (const auto& point : points) largest = std::max(largest, family_of(point).data_bytes(point.spec));
    return std::clamp<std::int64_t>(device.memory_bytes() / share_of_memory / largest, 1, max_points_at_once);
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
            std::vector<std::jthread> threads;
            const std::jthread clock([&](const std::stop_token& stop) {
                for (; !stop.stop_requested(); std::this_thread::sleep_for(std::chrono::milliseconds(50)))
                    if (is_over()) stop_.request_stop();
            });
            for (auto k = points_at_once(points_, device_); k > 0; --k) threads.emplace_back([&] { work(); });
        }
        if (problem_) std::rethrow_exception(problem_);
        report_.state.seconds = seconds();
        report_.complete = report_.state.done == report_.state.points;
        return report_;
    }

  private:
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
        std::string why;
        for (int k = 0; k < max_processes; ++k) {
            Process process;
            const auto ended = run(point, process);
            if (ended.stopped) return std::nullopt;
            if (process.end.contains("decision")) {
                const auto& decision = process.end["decision"];
                return PointResult{point, decision.is_null() ? std::nullopt : std::optional(decision_of(decision)), process.end["known"],
                                   process.end["why"]};
            }
            if (process.end.contains("error")) throw formats::OutputError(process.end["error"].get<std::string>());
            why = process.end.contains("again") ? process.end["again"].get<std::string>()
                                                : fmt::format("its process {}: {}", ended.describe(), ended.output);
            if (!process.trial.is_null())
                blame(process.trial, ended);
            else if (!process.end.contains("again"))
                break;
        }
        return PointResult{point, {}, false, why};
    }

    /// How far the process of a point is.
    struct Process {
        nlohmann::json trial, end;  ///< what it is in, and its last word
        double limit = seconds_to_begin;
    };

    Finished run(const Point& point, Process& process) {
        auto command = options_.command;
        command.insert(command.end(), {"search-point", task_text(point, log_, options_)});
        return run_limited(command, process.limit, stop_.get_token(), [&](const std::string& line) {
            const auto event = line.starts_with('{') ? nlohmann::json::parse(line, nullptr, false) : nlohmann::json();
            if (event.contains("limit")) {
                const auto limit = event["limit"].get<double>();
                process.limit = limit > 0 ? limit : std::numeric_limits<double>::infinity();
                process.trial = event.contains("trial") ? event["trial"] : nlohmann::json();
            }
            if (event.contains("kept")) count(event);
            for (const auto* last : {"decision", "again", "error"})
                if (event.contains(last)) process.end = event;
            return process.limit;
        });
    }

    /// Logs the trial within which a process ended.
    void blame(const nlohmann::json& begun, const Finished& ended) {
        auto trial = trial_of(begun);
        trial.verdict = ended.timed_out ? Verdict::times_out : Verdict::fails;
        trial.why = ended.timed_out ? fmt::format("it had not ended after {:g} s on the device", options_.trial_seconds)
                                    : fmt::format("the process that measured it {}", ended.describe());
        log_.append(trial);
        count({{"kept", to_string(trial.verdict)}, {"now", fmt::format("{}: {}", to_string(trial.point), trial.why)}});
    }

    void count(const nlohmann::json& event) {
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

}  // namespace trifold::tune
