#include "tools/tune/measure.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <new>
#include <sstream>
#include <trifold/error.hpp>

#include "runtime/wisdom/wisdom.hpp"
#include "tools/bench/statistics.hpp"

namespace trifold::tune {
namespace {

constexpr std::int64_t max_sets_on_gpus = 16, max_sets = 4096;             // on a GPU each has a graph of its own
constexpr std::int64_t gpu_caches = 256 << 20;                             // twice the largest second-level cache
constexpr std::int64_t unknown_caches = 64 << 20, max_caches = 128 << 20;  // of a processor; a virtual one may name its host's
constexpr double launch_seconds = 0.5e-6;                                  // of a graph with one kernel, by the device's clock
constexpr double call_seconds = 5e-9;                                      // on a processor
constexpr double seconds_of_run = 0.002;     // for which short calls are repeated, for each run that is asked for
constexpr int max_runs = 10;                 // for each that is asked for
constexpr int turns = 4, max_artefacts = 5;  // the latter in a row
constexpr double usable_memory = 0.9;

Repeats repeats_of(const Round& round) {
    const int share = round.by_turns ? turns : 1;
    return {.warm_up = round.by_turns ? 1 : 2,
            .least = std::max(1, round.runs / share),
            .most = max_runs * round.runs / share,
            .seconds = seconds_of_run * round.runs / share};
}

bool is_about_memory(const std::string& text) {
    return text.find("cuMemAlloc") != std::string::npos || text.find("bytes of device memory") != std::string::npos ||
           text.find("bytes of memory") != std::string::npos || text.find("out of memory") != std::string::npos;
}

/// Whether the device still takes work: a launch that failed leaves a context in which nothing runs any more.
bool still_works(const DeviceTools& tools) {
    try {
        const auto memory = tools.allocate(8);
        const double value = 0;
        tools.upload(memory.get(), &value, 8);
        tools.synchronize();
        return true;
    } catch (const DeviceError&) {
        return false;
    }
}

/// The time of one set after another. On a GPU each set has a graph of its own, which has its pointers in it, if the calls can be captured.
Timed timed_calls(DeviceTools& tools, std::int64_t sets, bool captured, const std::function<void(std::int64_t)>& call) {
    const auto next = std::make_shared<std::int64_t>(0);
    if (tools.stream() == nullptr || !captured)
        return [tools = &tools, call, next, sets] {
            const auto set = (*next)++ % sets;
            tools->start();
            call(set);
            return tools->stop() * 1e-3;
        };
    std::vector<std::function<double()>> replays;
    for (std::int64_t set = 0; set < sets; ++set) replays.push_back(tools.capture_timed([call, set] { call(set); }));
    return [replays, next] { return replays[static_cast<std::size_t>((*next)++) % replays.size()]() * 1e-3; };
}

/// "580.65.06" of a line such as "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Release Build".
std::string version_of_nvidia() {
    std::ifstream file("/proc/driver/nvidia/version");
    std::string line;
    std::getline(file, line);
    std::istringstream words(line);
    for (std::string word; words >> word;)
        if (word.find_first_not_of("0123456789.") == std::string::npos && word.find('.') != std::string::npos) return word;
    return "";
}

}  // namespace

/// Operations of the objective of one candidate.
class PointBench::Timing {
  public:
    void add(std::string operation, double weight, Timed timed) { parts_.push_back({std::move(operation), weight, std::move(timed), {}}); }
    void run(const Repeats& repeats, double floor) {
        for (auto& part : parts_) std::ranges::copy(take_series(part.timed, repeats, floor), std::back_inserter(part.seconds));
    }
    /// Medians, and the range between the quartiles.
    void fill(Trial& trial) const {
        double range = 0;
        for (const auto& part : parts_) {
            const auto statistics = bench::summarize(part.seconds);
            trial.seconds[part.operation] = statistics.median;
            trial.runs = static_cast<int>(part.seconds.size());
            range += part.weight * statistics.spread;
        }
        trial.spread = range / objective_seconds(trial);
    }

  private:
    struct Part {
        std::string operation;
        double weight;
        Timed timed;
        std::vector<double> seconds;
    };
    std::vector<Part> parts_;
};

PointBench::PointBench(Point point, Device device, MeasureOptions options)
    : point_(std::move(point)), family_(family_of(point_)), device_(std::move(device)), options_(std::move(options)) {}

PointBench::~PointBench() = default;

/// Whatever goes wrong is the trial's verdict.
void PointBench::attempt(Trial& trial, const std::function<void()>& work) {
    const auto judge = [&](Verdict verdict, const char* why) {
        trial.verdict = verdict;
        trial.why = why;
        trial.seconds.clear();
    };
    if (trial.verdict != Verdict::sound || !works_) return;
    try {
        if (options_.begin) options_.begin(trial);
        work();
    } catch (const TooLarge& error) {
        judge(Verdict::too_large, error.what());
    } catch (const std::bad_alloc&) {
        judge(Verdict::too_large, "not enough memory of the host");
    } catch (const SpecError& error) {
        judge(Verdict::refused, error.what());
    } catch (const CompileError& error) {
        judge(Verdict::does_not_compile, error.what());
    } catch (const Unsolvable& error) {
        judge(Verdict::inaccurate, error.what());
    } catch (const std::exception& error) {
        works_ = !tools_ || still_works(*tools_);
        judge(works_ && is_about_memory(error.what()) ? Verdict::too_large : Verdict::fails, error.what());
    }
}

std::shared_ptr<Prepared> PointBench::prepare(const Candidate& candidate, bool cached) {
    if (!tools_) tools_ = std::make_unique<DeviceTools>(device_);
    const auto sets = sets_of(point_, device_, options_.hot || cached);
    check_memory(family_.program(point_, device_.target(), candidate).workspace_bytes, sets * family_.data_bytes(point_.spec), device_);
    if (!data_ || data_->arrays.sets() != sets) {
        data_.reset();
        data_ = family_.data(point_.spec, options_.seed, *tools_, sets);
    }
    return data_->prepare(point_, candidate, device_);
}

/// By whichever operation of the Spec does so.
void PointBench::factor(Prepared& prepared) const {
    const auto found = std::ranges::find_if(family_.factors, [&](const auto& name) { return has_operation(point_.spec, name); });
    if (found != family_.factors.end()) prepared.run(*found, 0);
    prepared.check();
}

Outputs PointBench::outputs(Prepared& prepared, const Candidate& candidate) const {
    factor(prepared);
    Outputs result;
    for (const auto& [operations, array] : family_.experiments) {
        if (!std::ranges::all_of(operations, [&](const auto& name) { return has_operation(point_.spec, name); })) continue;
        data_->arrays.poison("x");
        for (const auto& operation : operations) prepared.run(operation, 0);
        prepared.check();
        const auto name = array == "x" ? fmt::format("{}", fmt::join(operations, " and ")) : array;
        result.values[name] = data_->result(array);
        for (const auto& [number, values] : prepared.numbers_of(operations.front())) result.values[number + " of " + name] = values;
    }
    const auto numbers = prepared.numbers();
    result.values.insert(numbers.values.begin(), numbers.values.end());
    result.status = numbers.status;
    if (options_.poison) options_.poison(candidate, result);
    return result;
}

void PointBench::check(Trial& trial, Prepared& prepared, std::int64_t max_spills) const {
    for (const auto& kernel : prepared.resources()) trial.spill_bytes += std::max<std::int64_t>(0, kernel.spill_bytes);  // -1: not known
    if (trial.spill_bytes > max_spills) {
        trial.verdict = Verdict::spilled;
        trial.why = fmt::format("{} bytes of registers are spilled; the default spills none, and the variant without these knobs {}",
                                trial.spill_bytes, max_spills);
        return;
    }
    factor(prepared);
    const bool both = has_operation(point_.spec, "factor_solve");
    if (!both && !has_operation(point_.spec, "solve")) return;
    data_->arrays.poison("x");
    prepared.run(both ? "factor_solve" : "solve", 0);
    prepared.check();
    trial.residual = data_->residual();
    const auto tolerance = family_.tolerance(precision_of(point_));
    if (trial.residual <= tolerance) return;
    trial.verdict = Verdict::inaccurate;
    trial.why = fmt::format("the relative residual is {:.1e}; at most {:.0e} is taken", trial.residual, tolerance);
    if (std::isnan(trial.residual)) trial.residual = 0;  // JSON has no NaN; `why` says it
}

/// Whether they compute what the first does.
void PointBench::compare(std::vector<Trial>& trials, const std::vector<std::shared_ptr<Prepared>>& prepared) {
    std::optional<Outputs> standard;
    for (std::size_t k = 0; k < trials.size(); ++k) {
        if (k > 0 && prepared[k] == prepared[0]) continue;
        attempt(trials[k], [&] {
            auto own = outputs(*prepared[k], trials[k].candidate);
            if (k == 0) standard = own;
            if (const auto what = standard ? difference(*standard, own, precision_of(point_), family_.tolerance) : ""; !what.empty()) {
                trials[k].verdict = Verdict::disagrees;
                trials[k].why = fmt::format("it disagrees with the default in {}", what);
            }
        });
    }
}

Timed PointBench::timed(Prepared& prepared, const Candidate& candidate, const std::string& operation) const {
    factor(prepared);
    const bool captured = std::ranges::find(family_.uncaptured, operation) == family_.uncaptured.end();
    auto result =
        timed_calls(*tools_, data_->arrays.sets(), captured, [&prepared, operation](std::int64_t set) { prepared.run(operation, set); });
    return options_.clock ? options_.clock(candidate, std::move(result)) : result;
}

void PointBench::measure(std::vector<Trial>& trials, const Round& round, std::int64_t max_spills) {
    std::vector<std::shared_ptr<Prepared>> prepared(trials.size());
    std::vector<Timing> timings(trials.size());
    for (std::size_t k = 0; k < trials.size(); ++k) {
        const bool again = k > 0 && prepared[0] && trials[k].candidate == trials[0].candidate;
        attempt(trials[k], [&] {
            prepared[k] = again ? prepared[0] : prepare(trials[k].candidate, round.cached);
            if (!again) return check(trials[k], *prepared[k], max_spills);
            trials[k].residual = trials[0].residual;
            trials[k].spill_bytes = trials[0].spill_bytes;
        });
    }
    if (round.by_turns) compare(trials, prepared);
    for (std::size_t k = 0; k < trials.size(); ++k)
        attempt(trials[k], [&] {
            for (const auto& [operation, weight] : point_.objective)
                timings[k].add(operation, weight, timed(*prepared[k], trials[k].candidate, operation));
        });
    const auto floor = device_.backend() == Backend::cpu ? call_seconds : launch_seconds;
    for (int turn = 0; turn < (round.by_turns ? turns : 1); ++turn)
        for (std::size_t place = 0; place < trials.size(); ++place) {
            const auto k = turn % 2 == 0 ? place : trials.size() - 1 - place;
            attempt(trials[k], [&] { timings[k].run(repeats_of(round), floor); });
        }
    for (std::size_t k = 0; k < trials.size(); ++k)
        if (trials[k].verdict == Verdict::sound && works_) timings[k].fill(trials[k]);
}

std::int64_t sets_of(const Point& point, const Device& device, bool hot) {
    if (hot) return 1;
    const bool is_cpu = device.backend() == Backend::cpu;
    const auto last = ::sysconf(_SC_LEVEL3_CACHE_SIZE);
    const auto caches = !is_cpu ? gpu_caches : last > 0 ? std::min<std::int64_t>(2 * last, max_caches) : unknown_caches;
    return std::min(caches / family_of(point).data_bytes(point.spec) + 1, is_cpu ? max_sets : max_sets_on_gpus);
}

std::vector<double> take_series(const Timed& timed, const Repeats& repeats, double floor) {
    for (int k = 0; k < repeats.warm_up; ++k) timed();
    std::vector<double> series;
    int artefacts = 0;
    for (double total = 0;
         static_cast<int>(series.size()) < repeats.least || (total < repeats.seconds && static_cast<int>(series.size()) < repeats.most);) {
        const auto seconds = timed();
        if (std::isfinite(seconds) && seconds > 0 && seconds >= floor) {
            series.push_back(seconds);
            total += seconds;
            artefacts = 0;
        } else if (++artefacts == max_artefacts) {
            throw ClockError(
                fmt::format("the clock says {} s, {} times in a row; no device takes less than {:.1e} s", seconds, max_artefacts, floor));
        }
    }
    return series;
}

void check_memory(std::int64_t workspace_bytes, std::int64_t data_bytes, const Device& device) {
    const auto needed = static_cast<double>(workspace_bytes + data_bytes);
    if (device.memory_bytes() > 0 && needed > usable_memory * static_cast<double>(device.memory_bytes()))
        throw TooLarge(fmt::format("it needs {:.1f} GB of the device's memory", needed * 1e-9));
}

Machine machine_of(const Device& device) {
    const auto target = to_string(device.target());
    if (device.backend() == Backend::cpu) return {wisdom_device(device), target, ""};
    if (device.backend() == Backend::hip) return {device.name(), target, fmt::format("HIP {}", probe_hip().driver)};
    const auto version = version_of_nvidia(), cuda = fmt::format("CUDA {}", probe_cuda().driver);
    return {device.name(), target, version.empty() ? cuda : fmt::format("{} ({})", version, cuda)};
}

}  // namespace trifold::tune
