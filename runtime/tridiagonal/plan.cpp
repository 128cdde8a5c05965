#include <fmt/format.h>

#include <chrono>
#include <trifold/error.hpp>
#include <trifold/plan.hpp>
#include <utility>

#include "runtime/base/limits.hpp"
#include "runtime/base/log.hpp"
#include "runtime/device/gpu.hpp"
#include "runtime/device/host_module.hpp"
#include "runtime/tridiagonal/plan_state.hpp"
#include "runtime/tridiagonal/wisdom.hpp"

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

/// The report of all units: what was compiled side by side took as long as the slowest.
PlanReport report_of(const std::vector<Binary>& binaries) {
    PlanReport report;
    report.cache_hit = true;
    for (const auto& binary : binaries) {
        report.cache_hit = report.cache_hit && binary.cache_hit;
        report.compiler = binary.compiler;
        report.kernels.insert(report.kernels.end(), binary.kernels.begin(), binary.kernels.end());
    }
    return report;
}

}  // namespace

Plan::Plan(const Spec& spec, const Device& device, const Tuning& tuning) try {
    Stopwatch watch;
    auto choice = choose_by_wisdom(spec, device, tuning);
    auto program = generate(choice);
    const auto generate_seconds = watch.lap();
    const auto binaries = obtain_all(program);
    auto report = report_of(binaries);
    report.generate_seconds = generate_seconds;
    report.compile_seconds = watch.lap();
    auto loaded = device.backend() == Backend::cpu ? load_on_host(program, binaries)
                                                   : gpu::load(program, choice.spec.batch, device.ordinal(), binaries);
    report.load_seconds = watch.lap();
    if (logs(LogLevel::info))
        log(LogLevel::info,
            fmt::format("plan {} n={} N={} {} by {} on {}: generate {:.1f} ms, {} {:.1f} ms, load {:.1f} ms", program.id, spec.block,
                        spec.horizon, choice.schedule.name, to_string(choice.rung), device.name(), report.generate_seconds * 1e3,
                        report.cache_hit ? "cache" : "compile", report.compile_seconds * 1e3, report.load_seconds * 1e3));
    state_ = std::make_shared<State>(State{std::move(choice), std::move(program), device, std::move(report), std::move(loaded)});
} catch (const std::system_error& error) {
    throw_refused(error);
}

const Plan::State& Plan::get() const {
    if (state_ == nullptr) throw SpecError("this Plan has been moved from; use the one it was moved to, or assign another to it");
    return *state_;
}
const std::shared_ptr<const Plan::State>& Plan::state() const {
    get();
    return state_;
}
const Choice& Plan::choice() const { return get().choice; }
const Program& Plan::program() const { return get().program; }
const Device& Plan::device() const { return get().device; }
const PlanReport& Plan::report() const { return get().report; }

}  // namespace trifold
