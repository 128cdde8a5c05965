#include "tools/tune/measure.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <fstream>
#include <new>
#include <trifold/error.hpp>

#include "runtime/wisdom/wisdom.hpp"
#include "tools/bench/timing.hpp"
#include "tools/formats/residual.hpp"

namespace trifold::tune {
namespace {

constexpr std::int64_t alignment = 256;
constexpr std::int64_t max_sets_on_gpus = 16, max_sets = 4096;             // on a GPU each has a graph of its own
constexpr std::int64_t gpu_caches = 256 << 20;                             // twice the largest second-level cache
constexpr std::int64_t unknown_caches = 64 << 20, max_caches = 128 << 20;  // of a processor; a virtual one may name its host's
constexpr double launch_seconds = 0.5e-6;                                  // of a graph with one kernel, by the device's clock
constexpr double call_seconds = 5e-9;                                      // on a processor
constexpr double seconds_of_run = 0.002;     // for which short calls are repeated, for each run that is asked for
constexpr int max_runs = 10;                 // for each that is asked for
constexpr int turns = 4, max_artefacts = 5;  // the latter in a row
constexpr double usable_memory = 0.9;
constexpr double rounding = 1e3;  // times the tolerance of a residual: what conditions of the test problems make of it

Repeats repeats_of(const Round& round) {
    const int share = round.by_turns ? turns : 1;
    return {.warm_up = round.by_turns ? 1 : 2,
            .least = std::max(1, round.runs / share),
            .most = max_runs * round.runs / share,
            .seconds = seconds_of_run * round.runs / share};
}

bool is_about_memory(std::string_view text) {
    return std::ranges::any_of(std::array{"cuMemAlloc", "bytes of device memory", "bytes of memory", "out of memory"},
                               [&](const char* words) { return text.find(words) != std::string_view::npos; });
}

/// Whether the device still takes work: a launch that failed leaves a context in which nothing runs any more.
bool still_works(const DeviceTools& tools) try {
    const auto memory = tools.allocate(8);
    const double value = 0;
    tools.upload(memory.get(), &value, 8);
    tools.synchronize();
    return true;
} catch (const DeviceError&) {
    return false;
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
    std::vector<Timed> replays;
    for (std::int64_t set = 0; set < sets; ++set) replays.push_back(tools.capture_timed([call, set] { call(set); }));
    return [replays, next] { return replays[static_cast<std::size_t>((*next)++) % replays.size()]() * 1e-3; };
}

/// The largest difference over the largest value. NaN where one of them is, and infinity where they have not as many.
double relative(const std::vector<double>& first, const std::vector<double>& second) {
    if (first.size() != second.size()) return INFINITY;
    double largest = 0, worst = 0;
    for (std::size_t k = 0; k < first.size(); ++k) {
        if (std::isnan(first[k]) || std::isnan(second[k])) return NAN;
        largest = std::max(largest, std::abs(first[k]));
        worst = std::max(worst, std::abs(first[k] - second[k]));
    }
    return worst == 0 ? 0 : worst / largest;
}

/// "580.65.06" of a line such as "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Release Build".
std::string version_of_nvidia() {
    std::ifstream file("/proc/driver/nvidia/version");
    for (std::string word; file >> word;)
        if (std::isdigit(static_cast<unsigned char>(word[0])) && word.find('.') != std::string::npos) return word;
    return "";
}

}  // namespace

PointData::PointData(const Point& point, std::uint64_t seed, DeviceTools& tools, std::int64_t sets)
    : tools_(tools),
      sets_(sets),
      batch_(number_in(point, "batch")),
      precision_(precision_of(point)),
      problem_(family_of(point).random(point.spec, seed)) {
    const auto real = element_bytes(precision_);
    for (const auto& [name, elements] : family_of(point).arrays(point.spec)) {
        auto& values = problem_.values[name];
        if (values.empty()) values.push_back(0);
        const auto all = elements * real, given = std::min(static_cast<std::int64_t>(values.size()) * real, all);
        const auto room = (all + alignment - 1) / alignment * alignment;
        const auto memory = tools_.allocate(room * sets);
        auto* bytes = static_cast<char*>(memory.get());
        if (precision_ == Precision::f32)
            tools_.upload(bytes, std::vector<float>(values.begin(), values.end()).data(), given);
        else
            tools_.upload(bytes, values.data(), given);
        for (auto filled = given; filled < all; filled *= 2) tools_.copy(bytes + filled, bytes, std::min(filled, all - filled));
        for (std::int64_t set = 1; set < sets; ++set) tools_.copy(bytes + set * room, bytes, all);
        tools_.synchronize();
        places_[name] = {elements, room, memory};
    }
    problem_.values.clear();
}

AnyArray PointData::at(const std::string& array, std::int64_t set) const {
    const auto& place = places_.at(array);
    return {static_cast<char*>(place.memory.get()) + set * place.bytes, false,
            precision_ == Precision::f32 ? Precision::f32 : Precision::f64};
}

std::vector<double> PointData::read(const std::string& array, std::int64_t first_member) const {
    const auto& place = places_.at(array);
    const auto each = place.elements / batch_, count = each * problem_.members, real = element_bytes(precision_);
    const auto download = [&](auto values) {
        tools_.download(values.data(), static_cast<const char*>(place.memory.get()) + first_member * each * real, count * real);
        std::vector<double> result(values.begin(), values.end());
        std::ranges::rotate(result, result.end() - first_member % problem_.members * each);
        return result;
    };
    const auto size = static_cast<std::size_t>(count);
    return precision_ == Precision::f32 ? download(std::vector<float>(size)) : download(std::vector<double>(size));
}

void PointData::poison(const std::string& array) const {
    const auto& place = places_.at(array);
    const std::vector<char> ones(static_cast<std::size_t>(place.bytes), '\xff');  // a NaN in both precisions
    tools_.upload(place.memory.get(), ones.data(), place.bytes);
}

double PointData::residual() const {
    return formats::worse(problem_.residual(read("x")), problem_.residual(read("x", batch_ - problem_.members)));
}

/// One trial of a measurement: its times, a list for each operation of the objective.
struct PointBench::Running {
    std::shared_ptr<Solving> solving;
    std::vector<Timed> clocks;
    std::vector<std::vector<double>> seconds;
};

PointBench::PointBench(Point point, Device device, MeasureOptions options)
    : point_(std::move(point)), family_(family_of(point_)), device_(std::move(device)), options_(std::move(options)) {}

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

std::shared_ptr<Solving> PointBench::prepare(const Candidate& candidate, bool cached) {
    if (!tools_) tools_ = std::make_unique<DeviceTools>(device_);
    const auto sets = sets_of(point_, device_, options_.hot || cached);
    const auto workspace = family_.make(point_, device_.target(), candidate).program().workspace_bytes;
    const auto needed = static_cast<double>(workspace + sets * data_bytes(point_));
    if (device_.memory_bytes() > 0 && needed > usable_memory * static_cast<double>(device_.memory_bytes()))
        throw DeviceError(fmt::format("out of memory: it needs {:.1f} GB on the device", needed * 1e-9));
    if (!data_ || data_->sets() != sets) {
        data_.reset();
        data_ = std::make_unique<PointData>(point_, options_.seed, *tools_, sets);
    }
    return std::make_shared<Solving>(family_.solving(point_, candidate, device_));
}

void PointBench::run(const Solving& solving, const std::string& operation, std::int64_t set) const {
    std::vector<AnyArray> arrays;
    for (const auto& array : *arrays_of(family_, operation)) arrays.push_back(data_->at(array, set));
    solving.run(operation, arrays, {tools_->stream()});
}

void PointBench::check(const Solving& solving) const {
    tools_->synchronize();
    solving.check();
}

/// By whichever operation of the Spec does so.
void PointBench::factor(const Solving& solving) const {
    const auto found = std::ranges::find_if(family_.factors, [&](const auto& name) { return has_operation(point_.spec, name); });
    if (found != family_.factors.end()) run(solving, *found);
    check(solving);
}

Outputs PointBench::outputs(const Solving& solving, const Candidate& candidate) const {
    factor(solving);
    auto result = solving.result("");
    for (const auto& [operations, array] : family_.experiments) {
        if (!std::ranges::all_of(operations, [&](const auto& name) { return has_operation(point_.spec, name); })) continue;
        data_->poison("x");
        const auto name = array == "x" ? fmt::format("{}", fmt::join(operations, " and ")) : array;
        for (const auto& operation : operations) {
            run(solving, operation);
            check(solving);
            for (const auto& [number, values] : solving.result(operation).values) result.values[number + " of " + name] = values;
        }
        result.values[name] = data_->read(array);
    }
    result.status = solving.result("").status;
    if (options_.poison) options_.poison(candidate, result);
    return result;
}

void PointBench::judge(Trial& trial, const Solving& solving, std::int64_t max_spills) const {
    for (const auto& kernel : solving.kernels) trial.spill_bytes += std::max<std::int64_t>(0, kernel.spill_bytes);  // -1: not known
    if (trial.spill_bytes > max_spills) {
        trial.verdict = Verdict::spilled;
        trial.why = fmt::format("{} bytes of registers are spilled; the default spills none, and the variant without these knobs {}",
                                trial.spill_bytes, max_spills);
        return;
    }
    factor(solving);
    const bool both = has_operation(point_.spec, "factor_solve");
    if (!both && !has_operation(point_.spec, "solve")) return;
    data_->poison("x");
    run(solving, both ? "factor_solve" : "solve");
    check(solving);
    trial.residual = data_->residual();
    const auto tolerance = family_.tolerance(precision_of(point_));
    if (trial.residual <= tolerance) return;
    trial.verdict = Verdict::inaccurate;
    trial.why = fmt::format("the relative residual is {:.1e}; at most {:.0e} is taken", trial.residual, tolerance);
}

Timed PointBench::timed(const Solving& solving, const Candidate& candidate, const std::string& operation) const {
    factor(solving);
    const bool captured = std::ranges::find(family_.uncaptured, operation) == family_.uncaptured.end();
    auto result = timed_calls(*tools_, data_->sets(), captured, [&, operation](std::int64_t set) { run(solving, operation, set); });
    return options_.clock ? options_.clock(candidate, std::move(result)) : result;
}

void PointBench::measure(std::span<Trial> trials, const Round& round, std::int64_t max_spills) {
    std::vector<Running> all(trials.size());
    const auto each = [&](const auto& work, bool backwards = false) {
        for (std::size_t place = 0; place < trials.size(); ++place) {
            const auto k = backwards ? trials.size() - 1 - place : place;
            attempt(trials[k], [&] { work(trials[k], all[k]); });
        }
    };
    each([&](Trial& trial, Running& one) {
        const auto& first = trials.front();
        if (&trial != &first && first.verdict == Verdict::sound && trial.candidate == first.candidate) {
            one.solving = all.front().solving;
            trial.residual = first.residual;
            trial.spill_bytes = first.spill_bytes;
        } else {
            one.solving = prepare(trial.candidate, round.cached);
            judge(trial, *one.solving, max_spills);
        }
    });
    std::optional<Outputs> standard;
    if (round.by_turns)
        each([&](Trial& trial, const Running& one) {
            if (&trial != &trials.front() && one.solving == all.front().solving) return;
            auto own = outputs(*one.solving, trial.candidate);
            const auto what = standard ? difference(*standard, own, point_) : "";
            if (&trial == &trials.front()) standard = std::move(own);
            if (what.empty()) return;
            trial.verdict = Verdict::disagrees;
            trial.why = fmt::format("it disagrees with the default in {}", what);
        });
    each([&](const Trial& trial, Running& one) {
        for (const auto& [operation, weight] : point_.objective) one.clocks.push_back(timed(*one.solving, trial.candidate, operation));
        one.seconds.resize(one.clocks.size());
    });
    const auto floor = device_.backend() == Backend::cpu ? call_seconds : launch_seconds;
    for (int turn = 0; turn < (round.by_turns ? turns : 1); ++turn)
        each(
            [&](const Trial&, Running& one) {
                for (std::size_t k = 0; k < one.clocks.size(); ++k)
                    std::ranges::copy(take_series(one.clocks[k], repeats_of(round), floor), std::back_inserter(one.seconds[k]));
            },
            turn % 2 == 1);
    for (std::size_t k = 0; k < trials.size(); ++k) {
        auto& trial = trials[k];
        if (trial.verdict != Verdict::sound || !works_) continue;
        for (std::size_t place = 0; const auto& [operation, weight] : point_.objective) {
            const auto statistics = bench::summarize(std::move(all[k].seconds[place++]));
            trial.seconds[operation] = statistics.median;
            trial.runs = static_cast<int>(statistics.sorted.size());
            trial.spread += weight * statistics.spread;
        }
        trial.spread /= objective_seconds(trial);
    }
}

std::string difference(const Outputs& first, const Outputs& second, const Point& point) {
    for (const auto& [name, values] : first.values) {
        const auto found = second.values.find(name);
        if (found == second.values.end()) return name + ", which is not there";
        // In mixed precision only solutions have the accuracy of f64.
        const bool is_solution = name.find("solve") != std::string::npos && name.find(" of ") == std::string::npos;
        const auto precision = precision_of(point) == Precision::mixed && !is_solution ? Precision::f32 : precision_of(point);
        const auto worst = relative(values, found->second);
        if (!(worst <= rounding * family_of(point).tolerance(precision))) return fmt::format("{}, by {:.1e}", name, worst);
    }
    return first.status == second.status ? "" : "status";
}

std::int64_t sets_of(const Point& point, const Device& device, bool hot) {
    if (hot) return 1;
    const bool is_cpu = device.backend() == Backend::cpu;
    const auto last = ::sysconf(_SC_LEVEL3_CACHE_SIZE);
    const auto caches = !is_cpu ? gpu_caches : last > 0 ? std::min<std::int64_t>(2 * last, max_caches) : unknown_caches;
    return std::min(caches / data_bytes(point) + 1, is_cpu ? max_sets : max_sets_on_gpus);
}

std::vector<double> take_series(const Timed& timed, const Repeats& repeats, double floor) {
    for (int k = 0; k < repeats.warm_up; ++k) timed();
    std::vector<double> series;
    int artefacts = 0;
    for (double total = 0;
         static_cast<int>(series.size()) < repeats.least || (total < repeats.seconds && static_cast<int>(series.size()) < repeats.most);) {
        const auto seconds = timed();
        if (std::isfinite(seconds) && seconds >= floor) {
            series.push_back(seconds);
            total += seconds;
            artefacts = 0;
        } else if (++artefacts == max_artefacts) {
            throw DeviceError(
                fmt::format("the clock says {} s, {} times in a row; no device takes less than {:.1e} s", seconds, max_artefacts, floor));
        }
    }
    return series;
}

Machine machine_of(const Device& device) {
    const auto target = to_string(device.target());
    if (device.backend() == Backend::cpu) return {wisdom_device(device), target, ""};
    if (device.backend() == Backend::hip) return {device.name(), target, fmt::format("HIP {}", probe_hip().driver)};
    const auto version = version_of_nvidia(), cuda = fmt::format("CUDA {}", probe_cuda().driver);
    return {device.name(), target, version.empty() ? cuda : fmt::format("{} ({})", version, cuda)};
}

}  // namespace trifold::tune
