#include "tools/tune/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <trifold/error.hpp>

#include "tools/tune/point_search.hpp"

namespace trifold::tune {
namespace {

constexpr std::int64_t most_points_at_once = 6;
constexpr std::int64_t share_of_memory = 8;  // of the device's, for the data of all points that are in search

std::int64_t points_at_once(const std::vector<Point>& points, const Device& device) {
    if (device.backend() == Backend::cpu) return 1;
    std::int64_t largest = 1;
    for (const auto& point : points) largest = std::max(largest, family_of(point).data_bytes(point.spec));
    return std::clamp<std::int64_t>(device.memory_bytes() / share_of_memory / largest, 1, most_points_at_once);
}

/// A point that this process has, until the end of its search.
class Claimed {
  public:
    Claimed(Ledger& ledger, const Point& point) : ledger_(ledger), point_(point), is_ours_(ledger.claim(point)) {}
    Claimed(const Claimed&) = delete;
    Claimed& operator=(const Claimed&) = delete;
    ~Claimed() {
        try {
            if (is_ours_) ledger_.release(point_);
        } catch (const std::exception&) {  // it is free when the process has ended
        }
    }
    explicit operator bool() const { return is_ours_; }

  private:
    Ledger& ledger_;
    const Point& point_;
    const bool is_ours_;
};

PointResult search_point(const Workshop& workshop, const Point& point) {
    const Claimed claimed(workshop.ledger, point);
    if (!claimed) return {point, {}, false, "another process tunes it"};
    if (const auto decision = workshop.ledger.decision(point); decision && parse_effort(decision->effort) >= workshop.options.effort)
        return {point, decision, true, ""};
    try {
        return PointSearch(workshop, point).run();
    } catch (const SpecError& error) {
        return {point, {}, false, error.what()};
    }
}

}  // namespace

SweepReport sweep(std::vector<Point> points, const Device& device, Database& database, const TuneOptions& options,
                  const SweepListener& listener) {
    std::ranges::stable_sort(points, std::greater<>{}, &Point::seconds);
    Ledger ledger(database, machine_of(device), options, listener, points.size());
    CompilePool pool({options.worker, options.processes, options.compile_seconds});
    Watchdog watchdog(options.trial_seconds, [&](const Trial& trial) { ledger.append(trial); });
    std::mutex turn;
    const Workshop workshop{device, options, ledger, pool, watchdog, turn, promise_of(ledger.all_trials())};
    std::atomic<std::size_t> next = 0;
    const auto work = [&] {
        for (std::size_t k = next++; k < points.size() && !ledger.is_over(); k = next++) try {
                ledger.add(search_point(workshop, points[k]));
            } catch (const CompilePool::Stopped&) {
                return;
            } catch (const std::exception& error) {
                ledger.give_up(fmt::format("{}: {}", to_string(points[k]), error.what()));
            }
    };
    const auto count = points_at_once(points, device);
    {
        std::vector<std::jthread> threads;
        const std::jthread clock([&](const std::stop_token& stop) {  // who waits for a compiler learns of the end as well
            while (!stop.stop_requested() && !ledger.is_over()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
            if (ledger.is_over()) pool.stop();
        });
        for (std::int64_t k = 0; k < count; ++k) threads.emplace_back(work);
        threads.clear();
    }
    if (const auto problem = ledger.problem(); !problem.empty()) throw DeviceError(problem);
    return ledger.report();
}

}  // namespace trifold::tune
