#include "tools/tune/series.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "tools/tune/family.hpp"

namespace trifold::tune {
namespace {

constexpr int most_artefacts = 5;                                           // in a row
constexpr double launch_seconds = 0.5e-6;                                   // of a graph with one kernel, by the device's clock
constexpr double call_seconds = 5e-9;                                       // on a processor
constexpr double flops_of_worker = 1e12;                                    // more than any core has
constexpr bench::Rates any_gpu{3e13, 5e14, 1e15};                           // more than any device has
constexpr double doubt = 0.5;                                               // of a floor by measured rates
constexpr std::int64_t gpu_caches = 256 << 20;                              // twice the largest second-level cache
constexpr std::int64_t unknown_caches = 64 << 20, most_caches = 128 << 20;  // of a processor; a virtual one may name its host's

double floor_of_work(const Point& point, std::string_view operation, const Device& device) {
    const auto& family = family_of(point);
    const auto precision = precision_of(point);
    if (precision == Precision::mixed) return 0;  // how often it refines is not known
    if (operation != "factor" && operation != "factor_solve") return 0;
    auto work = family.work(point.spec, operation);
    if (!work) return 0;
    if (family.data_bytes(point.spec) < cache_bytes(device)) work->bytes = 0;
    if (device.backend() == Backend::cpu) return work->flops / flops_of_worker / point.workers;
    return doubt * bench::floor_seconds(*work, bench::rates(device).value_or(any_gpu), precision);
}

}  // namespace

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
        } else if (++artefacts == most_artefacts) {
            throw ClockError(
                fmt::format("the clock says {} s, {} times in a row; no device takes less than {:.1e} s", seconds, most_artefacts, floor));
        }
    }
    return series;
}

double least_seconds(const Point& point, std::string_view operation, const Device& device) {
    const auto launch = device.backend() == Backend::cpu ? call_seconds : launch_seconds;
    return std::max(launch, floor_of_work(point, operation, device));
}

std::int64_t cache_bytes(const Device& device) {
    if (device.backend() != Backend::cpu) return gpu_caches;
    const auto last = ::sysconf(_SC_LEVEL3_CACHE_SIZE);
    return last > 0 ? std::min<std::int64_t>(2 * last, most_caches) : unknown_caches;
}

}  // namespace trifold::tune
