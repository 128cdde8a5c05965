#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <thread>
#include <trifold/binary.hpp>
#include <trifold/error.hpp>

#include "runtime/base/files.hpp"
#include "runtime/base/process.hpp"
#include "runtime/compile/cache.hpp"
#include "runtime/wisdom/wisdom.hpp"
#include "tools/tune/sweep.hpp"

namespace trifold::tune {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(MeasureOptions, hot, seed)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TuneOptions, device, effort, processes, command, compile_seconds, trial_seconds, measuring)

namespace {

using nlohmann::json;

constexpr double seconds_to_begin = 120;  // a driver may be slow to start

/// SIGALRM ends this process after that time, unless another limit takes its place; 0: none.
void limit(double seconds) {
    itimerval timer{};
    timer.it_value.tv_sec = static_cast<time_t>(std::min(seconds, 1e9));
    timer.it_value.tv_usec = static_cast<suseconds_t>(std::fmod(seconds, 1) * 1e6);
    ::signal(SIGALRM, SIG_DFL);  // who started this process may have ignored it
    ::setitimer(ITIMER_REAL, &timer, nullptr);
}

/// A turn on the device, of one process of this user at a time: what else measures would disturb the clock.
Descriptor turn_on(const Device& device) {
    limit(0);
    auto file = open_to_write(std::filesystem::temp_directory_path() /
                                  fmt::format("trifold-tune-{}-{}-{}", ::getuid(), to_string(device.backend()), device.ordinal()),
                              O_WRONLY | O_NOFOLLOW);
    while (file && ::flock(file.get(), LOCK_EX) != 0 && errno == EINTR) {
    }
    return file;
}

/// The end of a log, of whole lines where it has them.
std::string last_words(std::string text) {
    while (!text.empty() && text.back() == '\n') text.pop_back();
    constexpr std::size_t most = 600;
    if (text.size() <= most) return text;
    const auto line = text.find('\n', text.size() - most);
    return text.substr(line == std::string::npos ? text.size() - most : line + 1);
}

bool is_compiled(const Program& program) {
    const auto cache = Cache::from_environment();
    return std::ranges::all_of(program.units, [&](const Unit& unit) { return cache.find(cache_key(unit)).has_value(); });
}

class PointSearch {
  public:
    PointSearch(const Point& point, const Log& log, const TuneOptions& options, const Tell& tell)
        : point_(point),
          log_(log),
          options_(options),
          tell_(tell),
          device_(Device::parse(options.device)),
          machine_(machine_of(device_)),
          space_(space_of(point, device_.target(), wisdom_device(device_), options.effort == Effort::exhaustive)),
          bench_(point, device_, guarded()) {}

    PointResult run() {
        auto records = log_.read();
        std::erase_if(records.trials, [&](const Trial& one) { return !(one.machine == machine_) || one.generator != generator_version(); });
        if (const auto known = known_decision(records, machine_, point_, options_.effort)) return {point_, known, true, ""};
        const auto promise = promise_of(records.trials);
        for (auto& trial : records.trials)
            if (identity_of(trial.point) == identity_of(point_)) trials_.push_back(std::move(trial));
        auto decision = search(space_, options_.effort, promise,
                               [&](const std::vector<Candidate>& candidates, const Round& round) { return answer(candidates, round); });
        if (!decision) {
            const auto found = std::ranges::find(trials_, space_.standard, &Trial::candidate);
            const auto why = found == trials_.end() ? "nothing was measured" : "no candidate is sound; the default: " + found->why;
            return {point_, {}, false, why};
        }
        decision->machine = machine_;
        decision->generator = generator_version();
        decision->point = point_;
        log_.append(*decision);
        return {point_, decision, false, ""};
    }

  private:
    MeasureOptions guarded() const {
        auto options = options_.measuring;
        options.begin = [this](const Trial& trial) {
            auto failed = trial;  // as it is logged if this process ends in it
            failed.verdict = Verdict::fails;
            failed.seconds.clear();
            tell_({{"trial", to_json(failed)}});
            limit(options_.trial_seconds);
        };
        return options;
    }

    /// A trial that stands for this one: of the same round with as many runs, or one that failed. Times that were taken by turns are
    /// compared with each other only.
    const Trial* known(const Candidate& candidate, const Round& round) const {
        const auto found = std::ranges::find_if(trials_, [&](const Trial& trial) {
            if (!(trial.candidate == candidate)) return false;
            if (trial.verdict != Verdict::sound) return true;
            return !round.by_turns && trial.round == round.name && trial.runs >= round.runs;
        });
        return found == trials_.end() ? nullptr : &*found;
    }

    std::vector<Trial> answer(const std::vector<Candidate>& candidates, const Round& round) {
        std::vector<Trial> result, needed;
        for (const auto& candidate : candidates) {
            if (const auto* earlier = known(candidate, round)) {
                if (!round.by_turns) result.push_back(*earlier);
            } else {
                needed.push_back({machine_, generator_version(), point_, candidate, candidate == space_.standard, round.name});
            }
        }
        compile(needed);
        if (round.by_turns) measure(needed, round);
        for (auto& trial : needed) {
            if (!round.by_turns) measure(std::span(&trial, 1), round);
            result.push_back(trial);
        }
        return result;
    }

    /// Compiles as many at a time as there may be processes; nothing is measured meanwhile.
    void compile(std::vector<Trial>& trials) {
        std::vector<Trial*> waiting;
        for (auto& trial : trials) try {
                if (!is_compiled(family_of(point_).make(point_, device_.target(), trial.candidate).program())) waiting.push_back(&trial);
            } catch (const SpecError& error) {
                trial.verdict = Verdict::refused;
                trial.why = error.what();
            }
        limit(0);
        std::atomic<std::size_t> next = 0;
        std::vector<std::jthread> threads;
        while (threads.size() < std::min<std::size_t>(static_cast<std::size_t>(options_.processes), waiting.size()))
            threads.emplace_back([&] {
                for (auto k = next++; k < waiting.size(); k = next++) compile_one(*waiting[k]);
            });
    }

    void compile_one(Trial& trial) const try {
        auto command = options_.command;
        command.insert(command.end(), {"compile-candidate", json{{"spec", point_.spec},
                                                                 {"workers", point_.workers},
                                                                 {"target", machine_.target},
                                                                 {"schedule", trial.candidate.schedule},
                                                                 {"variant", trial.candidate.variant},
                                                                 {"seconds", options_.compile_seconds}}
                                                                .dump()});
        const auto ended = run_process(command);
        if (ended.started && ended.status == 0) return;
        const bool timed_out = ended.started && WIFSIGNALED(ended.status) && WTERMSIG(ended.status) == SIGALRM;
        trial.verdict = timed_out ? Verdict::times_out : Verdict::does_not_compile;
        trial.why = timed_out ? fmt::format("it had not compiled after {:g} s", options_.compile_seconds)
                              : fmt::format("the compiling process {}: {}", ended.describe(), last_words(ended.output));
    } catch (const std::exception& error) {
        trial.verdict = Verdict::does_not_compile;
        trial.why = error.what();
    }

    void measure(std::span<Trial> trials, const Round& round) {
        if (std::ranges::any_of(trials, [](const Trial& trial) { return trial.verdict == Verdict::sound; })) {
            const auto turn = turn_on(device_);
            const auto most = trials.size() == 1 ? max_spills(trials[0].candidate, trials_) : std::numeric_limits<std::int64_t>::max();
            bench_.measure(trials, round, most);
            limit(0);
            tell_({{"trial", nullptr}});
        }
        for (const auto& trial : trials)
            if (trial.verdict != Verdict::sound || (!trial.seconds.empty() && !round.cached)) keep(trial);
        if (!bench_.works()) throw DeviceError("the device takes no more work after '" + trials_.back().why + "'");
    }

    void keep(const Trial& trial) {
        trials_.push_back(trial);
        log_.append(trial);
        const auto time = trial.verdict == Verdict::sound ? fmt::format("{:.1f} us", objective_seconds(trial) * 1e6) : trial.why;
        tell_({{"kept", to_string(trial.verdict)},
               {"now", fmt::format("{}: {} by {}, {}", to_string(point_), time.substr(0, time.find('\n')), trial.candidate.schedule,
                                   trial.candidate.variant)}});
    }

    const Point point_;
    const Log& log_;
    const TuneOptions& options_;
    const Tell& tell_;
    const Device device_;
    const Machine machine_;
    const Space space_;
    PointBench bench_;
    std::vector<Trial> trials_;  // of the point, those of earlier runs first
};

Point point_of(const json& task) {
    const auto objective = parse_objective(task.value("objective", "factor_solve"));
    return {family_of(task.at("spec")).parse(task.at("spec")), task.at("workers"), objective};
}

}  // namespace

std::int64_t max_spills(const Candidate& candidate, const std::vector<Trial>& trials) {
    constexpr auto any = std::numeric_limits<std::int64_t>::max();
    const auto name = parse_variant(candidate.variant);
    if (name.pinned.empty()) return any;
    std::int64_t most = 0;
    bool knows_default = false;
    for (const auto& trial : trials) {
        if (trial.verdict != Verdict::sound) continue;
        if (trial.is_default && trial.spill_bytes > 0) return any;
        knows_default |= trial.is_default;
        if (trial.candidate.variant == name.name) most = std::max(most, trial.spill_bytes);
    }
    return knows_default ? most : any;
}

PointResult search_point(const Point& point, const Log& log, const TuneOptions& options, const Tell& tell) try {
    return PointSearch(point, log, options, tell).run();
} catch (const SpecError& error) {
    return {point, {}, false, error.what()};
}

std::string task_text(const Point& point, const Log& log, const TuneOptions& options) {
    return json{{"spec", point.spec},
                {"workers", point.workers},
                {"objective", to_string(point.objective)},
                {"log", log.path().string()},
                {"options", options}}
        .dump();
}

void search_point_aloud(const std::string& text) {
    const auto tell = [](const json& event) {
        fmt::print("{}\n", event.dump(-1, ' ', false, json::error_handler_t::replace));
        std::fflush(stdout);
    };
    limit(seconds_to_begin);
    try {
        const auto task = json::parse(text);
        const auto result =
            search_point(point_of(task), Log(task.at("log").get<std::string>()), task.at("options").get<TuneOptions>(), tell);
        const auto decision = result.decision ? json(to_json(*result.decision)) : json();
        tell({{"decision", decision}, {"known", result.was_decided}, {"why", result.why}});
    } catch (const DeviceError&) {
        throw;  // who waits starts another process, as after a crash
    } catch (const std::exception& error) {
        tell({{"error", error.what()}});
    }
}

void compile_candidate(const std::string& text) {
    const auto task = json::parse(text);
    limit(task.at("seconds"));
    const auto point = point_of(task);
    const Candidate candidate{task.at("schedule").get<std::string>(), task.at("variant").get<std::string>()};
    const auto made = family_of(point).make(point, parse_target(task.at("target").get<std::string>()), candidate);
    for (const auto& unit : made.program().units) obtain(unit);
}

}  // namespace trifold::tune
