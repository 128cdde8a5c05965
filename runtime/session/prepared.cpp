#include "runtime/session/prepared.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

#include "runtime/base/limits.hpp"
#include "runtime/base/log.hpp"
#include "runtime/device/gpu_module.hpp"

namespace trifold {
namespace {

class Stopwatch {
  public:
    /// Seconds since the last call.
    double lap() {
        const auto now = std::chrono::steady_clock::now();
        return std::chrono::duration<double>(now - std::exchange(start_, now)).count();
    }

  private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// The units that an operation's launches need, and those by which a CUDA device repeats them.
std::set<std::size_t> units_of(const Program& program, const std::string& operation) {
    std::set<std::size_t> units;
    for (const auto& launch : program.operations.at(operation))
        if (launch.work == Work::kernel || (launch.work == Work::copy && program.units.front().target.backend != Backend::cpu))
            units.insert(launch.unit);
    if (const auto repeats = program.repeats.find(operation); repeats != program.repeats.end())
        for (const auto& repeat : repeats->second)
            if (repeat.unit < program.units.size()) units.insert(repeat.unit);
    return units;
}

std::set<std::size_t> first_units(const Program& program, const std::string& operation) {
    if (!operation.empty()) return units_of(program, operation);
    std::set<std::size_t> units;
    for (std::size_t k = 0; k < program.units.size(); ++k) units.insert(k);
    return units;
}

std::shared_ptr<const gpu::Context> context_of(const Preparation& made, const Device& device) {
    if (device.backend() == Backend::cpu) return nullptr;
    gpu::check_grids(made.program, made.members);
    return std::make_shared<const gpu::Context>(gpu::driver(device.backend()), device.ordinal());
}

Units units_of(const Preparation& made, const Device& device, const std::vector<LoadedCode>& codes) {
    if (!codes.empty()) return {made.program, device, codes};
    return {made.program, device, first_units(made.program, made.first)};
}

Program without_sources(Program program) {
    for (auto& unit : program.units) std::string().swap(unit.source);  // assignment would keep the memory
    return program;
}

/// A plan for which nothing was compiled is of interest to few.
void log_preparation(const Prepared& prepared, const std::string& summary, bool cache_hit) {
    const auto level = cache_hit ? LogLevel::debug : LogLevel::info;
    if (!logs(level)) return;
    log(level, fmt::format("plan {} {} on {}: generate {:.1f} ms, {} {:.1f} ms, load {:.1f} ms", prepared.program.id, summary,
                           prepared.device.name(), prepared.generate_seconds * 1e3, cache_hit ? "cache" : "compile",
                           prepared.compile_seconds * 1e3, prepared.load_seconds * 1e3));
}

}  // namespace

Prepared::Prepared(Preparation made, const Device& on, const FamilyWords& in, const std::vector<LoadedCode>& codes)
    : device(on),
      context(context_of(made, on)),
      units(units_of(made, on, codes)),
      spin_microseconds(made.spin_microseconds),
      words(in),
      described(std::move(made.described)),
      asked(std::move(made.asked)),
      transport(std::move(made.transport)) {
    program = without_sources(std::move(made.program));
}

Prepared::~Prepared() { delete report_.load(); }

const std::string& Prepared::operation(std::size_t number) const {
    return std::next(program.operations.begin(), static_cast<std::ptrdiff_t>(number))->first;
}

bool Prepared::is_there(std::size_t number) const {
    return std::ranges::all_of(units_of(program, operation(number)), [&](std::size_t unit) { return units.is_there(unit); });
}

/// Its seconds are those of the caller: units that were compiled side by side took as long as the slowest.
const PlanReport& Prepared::report() const {
    if (const auto* known = report_.load(std::memory_order_acquire)) return *known;
    const std::scoped_lock lock(*reporting_);
    if (const auto* known = report_.load(std::memory_order_acquire)) return *known;
    auto report = std::make_unique<PlanReport>();
    report->cache_hit = report->prebuilt = true;
    report->generate_seconds = generate_seconds;
    report->compile_seconds = compile_seconds;
    report->load_seconds = load_seconds;
    for (std::size_t k = 0; k < units.size(); ++k) {
        const auto& [code, cache_hit, _] = units.code(k);
        report->cache_hit = report->cache_hit && cache_hit;
        report->prebuilt = report->prebuilt && code->prebuilt;
        report->compiler = code->compiler;
        report->kernels.insert(report->kernels.end(), code->kernels.begin(), code->kernels.end());
    }
    report_.store(report.get(), std::memory_order_release);
    return *report.release();
}

std::shared_ptr<const Prepared> prepare(const Device& device, const FamilyWords& words, const std::function<Preparation()>& generate) try {
    Stopwatch watch;
    auto made = generate();
    check_repeats(made.program);
    const auto generate_seconds = watch.lap();
    const auto summary = made.summary;
    const auto prepared = std::make_shared<Prepared>(std::move(made), device, words);
    prepared->generate_seconds = generate_seconds;
    bool cache_hit = true;
    for (std::size_t k = 0; k < prepared->units.size(); ++k) {
        if (!prepared->units.is_there(k)) continue;
        prepared->load_seconds += prepared->units.code(k).load_seconds;
        cache_hit = cache_hit && prepared->units.code(k).cache_hit;
    }
    prepared->compile_seconds = std::max(0.0, watch.lap() - prepared->load_seconds);
    log_preparation(*prepared, summary, cache_hit);
    return prepared;
} catch (const std::system_error& error) {
    throw_refused(error);
}

}  // namespace trifold
