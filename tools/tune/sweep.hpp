#pragma once
#include <atomic>
#include <functional>
#include <map>
#include <optional>

#include "tools/tune/database.hpp"
#include "tools/tune/measure.hpp"
#include "tools/tune/search.hpp"

namespace trifold::tune {

struct TuneOptions {
    Effort effort = Effort::quick;
    std::uint64_t seed = 0;
    double budget_seconds = 0;        ///< 0: no end
    int processes = 1;                ///< that compile at the same time
    std::vector<std::string> worker;  ///< CompilePool::Options::worker
    double compile_seconds = 60;      ///< of one unit
    double trial_seconds = 30;        ///< on the device, after which the process ends
    MeasureOptions measuring = {};
    const std::atomic<bool>* stop = nullptr;  ///< set: end soon, and keep everything
};

/// What became of a point.
struct PointResult {
    Point point;
    std::optional<Decision> decision;
    bool was_decided = false;  ///< by an earlier search
    std::string why;           ///< there is no decision
};

/// How far a sweep is.
struct SweepState {
    std::size_t points = 0, done = 0, trials = 0;
    double seconds = 0;  ///< since it began
    std::map<Verdict, std::size_t> failures;
    std::string now;   ///< what is measured
    std::string best;  ///< so far, of that point
};

struct SweepReport {
    std::vector<PointResult> results;  ///< of points that are done, in that order
    SweepState state;
    bool complete = false;  ///< else it was stopped, by its budget or by the caller
};

struct SweepListener {
    std::function<void(const SweepState&)> progress = {};  ///< after each trial
    std::function<void(const PointResult&)> done = {};     ///< a point
};

/// Searches all points, the costly ones first, on this device. Every trial goes into the database when it is made, and what is there
/// already is not measured again. Points that another process has claimed are left to it.
///
/// On GPUs several points are in search at the same time: one is measured while others are compiled. On the processor nothing compiles
/// while something is measured.
///
/// Throws DeviceError after a launch that left a device in which nothing runs any more; a candidate that never ends on the device ends the
/// process with status 3. Both are in the database then, and another run goes on behind them.
SweepReport sweep(std::vector<Point> points, const Device& device, Database& database, const TuneOptions& options,
                  const SweepListener& listener);

}  // namespace trifold::tune
