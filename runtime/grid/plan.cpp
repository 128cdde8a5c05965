#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <trifold/error.hpp>
#include <utility>

#include "runtime/base/limits.hpp"
#include "runtime/base/log.hpp"
#include "runtime/device/host_module.hpp"
#include "runtime/grid/plan_state.hpp"
#include "runtime/grid/wisdom.hpp"

namespace trifold {
namespace {

double seconds_since(std::chrono::steady_clock::time_point& start) {
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double>(now - std::exchange(start, now)).count();
}

}  // namespace

GridPlan::GridPlan(const GridSpec& spec, const Device& device, const GridTuning& tuning) try {
    auto start = std::chrono::steady_clock::now();
    auto choice = choose_by_wisdom(spec, device, tuning);
    auto program = generate(choice);
    PlanReport report;
    report.generate_seconds = seconds_since(start);
    const auto binaries = obtain_all(program);
    report.compile_seconds = seconds_since(start);
    report.cache_hit = std::ranges::all_of(binaries, &Binary::cache_hit);
    report.compiler = binaries.front().compiler;
    for (const auto& binary : binaries) report.kernels.insert(report.kernels.end(), binary.kernels.begin(), binary.kernels.end());
    auto loaded =
        device.backend() == Backend::cpu ? load_on_host(program, binaries) : gpu::load(program, spec.batch, device.ordinal(), binaries);
    report.load_seconds = seconds_since(start);
    if (logs(LogLevel::info))
        log(LogLevel::info, fmt::format("plan {} by {} on {}: generate {:.1f} ms, {} {:.1f} ms, load {:.1f} ms", program.name,
                                        to_string(choice.rung), device.name(), report.generate_seconds * 1e3,
                                        report.cache_hit ? "cache" : "compile", report.compile_seconds * 1e3, report.load_seconds * 1e3));
    state_ = std::make_shared<State>(State{std::move(choice), std::move(program), device, std::move(report), std::move(loaded)});
} catch (const std::system_error& error) {
    throw_refused(error);
}

const GridPlan::State& GridPlan::state() const {
    if (state_ == nullptr) throw SpecError("this GridPlan has been moved from; use the one it was moved to, or assign another to it");
    return *state_;
}
const std::shared_ptr<const GridPlan::State>& GridPlan::shared_state() const {
    state();
    return state_;
}
const GridChoice& GridPlan::choice() const { return state().choice; }
const GridSpec& GridPlan::spec() const { return state().choice.spec; }
const GridTuning& GridPlan::tuning() const { return state().choice.tuning; }
const Program& GridPlan::program() const { return state().program; }
const Device& GridPlan::device() const { return state().device; }
const PlanReport& GridPlan::report() const { return state().report; }

}  // namespace trifold
