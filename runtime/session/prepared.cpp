#include "runtime/session/prepared.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <system_error>
#include <trifold/binary.hpp>
#include <utility>

#include "runtime/base/limits.hpp"
#include "runtime/base/log.hpp"
#include "runtime/device/host_module.hpp"

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
    report.cache_hit = std::ranges::all_of(binaries, &Binary::cache_hit);
    for (const auto& binary : binaries) {
        report.compiler = binary.compiler;
        report.kernels.insert(report.kernels.end(), binary.kernels.begin(), binary.kernels.end());
    }
    return report;
}

void log_preparation(const Preparation& made, const Device& device, const PlanReport& report) {
    if (!logs(LogLevel::info)) return;
    log(LogLevel::info, fmt::format("plan {} {} on {}: generate {:.1f} ms, {} {:.1f} ms, load {:.1f} ms", made.program.id, made.summary,
                                    device.name(), report.generate_seconds * 1e3, report.cache_hit ? "cache" : "compile",
                                    report.compile_seconds * 1e3, report.load_seconds * 1e3));
}

}  // namespace

std::shared_ptr<const Prepared> prepare(const Device& device, const FamilyWords& words, const std::function<Preparation()>& generate) try {
    Stopwatch watch;
    auto made = generate();
    check_repeats(made.program);
    const auto generate_seconds = watch.lap();
    const auto binaries = obtain_all(made.program);
    auto report = report_of(binaries);
    report.generate_seconds = generate_seconds;
    report.compile_seconds = watch.lap();
    auto loaded = device.backend() == Backend::cpu ? load_on_host(made.program, binaries)
                                                   : gpu::load(made.program, made.members, device.ordinal(), binaries);
    report.load_seconds = watch.lap();
    log_preparation(made, device, report);
    return std::make_shared<Prepared>(Prepared{std::move(made.program), device, std::move(report), std::move(loaded),
                                               made.spin_microseconds, words, std::move(made.described), std::move(made.asked)});
} catch (const std::system_error& error) {
    throw_refused(error);
}

}  // namespace trifold
