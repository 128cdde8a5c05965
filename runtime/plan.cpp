#include <fmt/format.h>

#include <chrono>
#include <trifold/error.hpp>
#include <trifold/plan.hpp>
#include <utility>

#include "runtime/gpu.hpp"
#include "runtime/log.hpp"
#include "runtime/plan_state.hpp"

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

void load_on_host(Plan::State& state, const Binary& binary) {
    const auto module = std::make_shared<HostModule>(binary);
    for (const auto& kernel : state.program.kernels) state.functions.push_back(module->symbol(kernel.name));
    state.module = module;
}

void load(Plan::State& state, const Binary& binary) {
    if (state.device.backend() == Backend::cpu) return load_on_host(state, binary);
    auto loaded = gpu::load(state.program, state.device.ordinal(), binary);
    state.module = std::move(loaded.module);
    state.functions = std::move(loaded.functions);
}

}  // namespace

Plan::Plan(const Spec& spec, const Device& device, const Tuning& tuning) {
    Stopwatch watch;
    auto program = generate(spec, device.target(), tuning);
    auto state = std::make_shared<State>(State{std::move(program), device, {}, {}, {}});
    auto& report = state->report;
    report.generate_seconds = watch.lap();
    auto binary = obtain(state->program);
    report.compile_seconds = watch.lap();
    load(*state, binary);
    report.load_seconds = watch.lap();
    report.cache_hit = binary.cache_hit;
    report.compiler = std::move(binary.compiler);
    report.kernels = std::move(binary.kernels);
    if (logs(LogLevel::info))
        log(LogLevel::info,
            fmt::format("plan {} n={} N={} {} on {}: generate {:.1f} ms, {} {:.1f} ms, load {:.1f} ms", state->program.id, spec.block,
                        spec.horizon, state->program.schedule.name, device.name(), report.generate_seconds * 1e3,
                        report.cache_hit ? "cache" : "compile", report.compile_seconds * 1e3, report.load_seconds * 1e3));
    state_ = std::move(state);
}

const Plan::State& Plan::get() const {
    if (state_ == nullptr) throw SpecError("this Plan has been moved from; use the one it was moved to, or assign another to it");
    return *state_;
}
const std::shared_ptr<const Plan::State>& Plan::state() const {
    get();
    return state_;
}
const Program& Plan::program() const { return get().program; }
const Device& Plan::device() const { return get().device; }
const PlanReport& Plan::report() const { return get().report; }

}  // namespace trifold
