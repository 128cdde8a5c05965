#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <thread>
#include <trifold/binary.hpp>
#include <trifold/error.hpp>

#include "runtime/base/files.hpp"
#include "runtime/compile/cache.hpp"
#include "runtime/wisdom/wisdom.hpp"
#include "tools/formats/file.hpp"
#include "tools/tune/points.hpp"
#include "tools/tune/process.hpp"
#include "tools/tune/sweep.hpp"

namespace trifold::tune {
namespace {

using nlohmann::json;

/// A turn on the device, of one process of this user at a time: what else measures would disturb the clock.
class Turn {
  public:
    Turn(const Device& device, const Tell& tell)
        : tell_(tell),
          file_(open_to_write(std::filesystem::temp_directory_path() /
                                  fmt::format("trifold-tune-{}-{}-{}", ::getuid(), to_string(device.backend()), device.ordinal()),
                              O_WRONLY | O_NOFOLLOW)) {
        tell_({{"limit", 0}});
        while (file_ && ::flock(file_.get(), LOCK_EX) != 0 && errno == EINTR) {
        }
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn() { tell_({{"limit", 0}}); }

  private:
    const Tell& tell_;
    const Descriptor file_;
};

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
        auto strategy = strategy_of(options_.effort);
        strategy.promise = promise_of(records.trials);
        for (auto& trial : records.trials)
            if (identity_of(trial.point) == identity_of(point_)) trials_.push_back(std::move(trial));
        auto decision = search(space_, strategy,
                               [&](const std::vector<Candidate>& candidates, const Round& round) { return answer(candidates, round); });
        if (!decision) {
            const auto found = std::ranges::find(trials_, space_.standard, &Trial::candidate);
            return {
                point_, {}, false, found == trials_.end() ? "nothing was measured" : "no candidate is sound; the default: " + found->why};
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
            tell_({{"limit", options_.trial_seconds}, {"trial", to_json(failed)}});
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
        if (round.by_turns) {
            measure(needed, round);
        } else {
            for (auto& trial : needed) {
                std::vector<Trial> one{trial};
                measure(one, round);
                trial = one.front();
            }
        }
        std::ranges::copy(needed, std::back_inserter(result));
        return result;
    }

    /// Compiles as many at a time as there may be processes; nothing is measured meanwhile.
    void compile(std::vector<Trial>& trials) {
        std::vector<Trial*> waiting;
        for (auto& trial : trials) try {
                if (!is_compiled(family_of(point_).program(point_, device_.target(), trial.candidate))) waiting.push_back(&trial);
            } catch (const SpecError& error) {
                trial.verdict = Verdict::refused;
                trial.why = error.what();
            }
        tell_({{"limit", 0}});
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
                                                                 {"target", to_string(device_.target())},
                                                                 {"schedule", trial.candidate.schedule},
                                                                 {"variant", trial.candidate.variant}}
                                                                .dump()});
        const auto ended = run_limited(command, options_.compile_seconds);
        if (ended.succeeded()) return;
        trial.verdict = ended.timed_out ? Verdict::times_out : Verdict::does_not_compile;
        trial.why =
            fmt::format("the compiling process {}{}{}", ended.describe(), ended.output.empty() ? "" : ": ", last_words(ended.output));
    } catch (const std::exception& error) {
        trial.verdict = Verdict::does_not_compile;
        trial.why = error.what();
    }

    void measure(std::vector<Trial>& trials, const Round& round) {
        if (std::ranges::any_of(trials, [](const Trial& trial) { return trial.verdict == Verdict::sound; })) {
            const Turn turn(device_, tell_);
            bench_.measure(trials, round,
                           trials.size() == 1 ? max_spills(trials.front().candidate, trials_) : std::numeric_limits<std::int64_t>::max());
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
        const auto other = parse_variant(trial.candidate.variant);
        if (other.pinned.empty() && other.name == name.name) most = std::max(most, trial.spill_bytes);
    }
    return knows_default ? most : any;
}

std::optional<Decision> known_decision(const Records& records, const Machine& machine, const Point& point, Effort effort) {
    for (const auto& one : last_decisions(records.decisions))
        if (one.machine == machine && one.generator == generator_version() && identity_of(one.point) == identity_of(point) &&
            parse_effort(one.effort) >= effort)
            return one;
    return std::nullopt;
}

PointResult search_point(const Point& point, const Log& log, const TuneOptions& options, const Tell& tell) {
    try {
        return PointSearch(point, log, options, tell).run();
    } catch (const SpecError& error) {
        return {point, {}, false, error.what()};
    }
}

std::string task_text(const Point& point, const Log& log, const TuneOptions& options) {
    return json{{"spec", point.spec},
                {"workers", point.workers},
                {"objective", to_string(point.objective)},
                {"log", log.path().string()},
                {"device", options.device},
                {"effort", to_string(options.effort)},
                {"processes", options.processes},
                {"command", options.command},
                {"compile_seconds", options.compile_seconds},
                {"trial_seconds", options.trial_seconds},
                {"hot", options.measuring.hot},
                {"seed", options.measuring.seed}}
        .dump();
}

void search_point_aloud(const std::string& text) {
    const auto tell = [](const json& event) {
        fmt::print("{}\n", event.dump(-1, ' ', false, json::error_handler_t::replace));
        std::fflush(stdout);
    };
    try {
        const auto task = json::parse(text);
        const auto& spec = task.at("spec");
        const Point point{family_of(spec).parse(spec), task.at("workers"), parse_objective(task.at("objective").get<std::string>())};
        const TuneOptions options{.device = task.at("device"),
                                  .effort = parse_effort(task.at("effort").get<std::string>()),
                                  .processes = task.at("processes"),
                                  .command = task.at("command"),
                                  .compile_seconds = task.at("compile_seconds"),
                                  .trial_seconds = task.at("trial_seconds"),
                                  .measuring = {.hot = task.at("hot"), .seed = task.at("seed")}};
        const auto result = search_point(point, Log(task.at("log").get<std::string>()), options, tell);
        tell(
            {{"decision", result.decision ? json(to_json(*result.decision)) : json()}, {"known", result.was_decided}, {"why", result.why}});
    } catch (const DeviceError& error) {
        tell({{"again", error.what()}});
    } catch (const std::exception& error) {
        tell({{"error", error.what()}});
    }
}

void compile_candidate(const std::string& text, int max_seconds) {
    // Who started this process may be killed: then only the clock ends a compiler that hangs.
    ::alarm(static_cast<unsigned>(max_seconds));
    const auto tree = json::parse(text, nullptr, false);
    for (const auto* name : {"spec", "workers", "target", "schedule", "variant"})
        if (!tree.is_object() || !tree.contains(name)) throw formats::InputError(fmt::format("'{}' is no candidate to compile", text));
    const auto& family = family_of(tree["spec"]);
    const Point point{family.parse(tree["spec"]), tree["workers"].get<int>()};
    const Candidate candidate{tree["schedule"].get<std::string>(), tree["variant"].get<std::string>()};
    for (const auto& unit : family.program(point, parse_target(tree["target"].get<std::string>()), candidate).units) obtain(unit);
}

}  // namespace trifold::tune
