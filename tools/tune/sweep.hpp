#pragma once
#include <atomic>

#include "tools/tune/measure.hpp"

namespace trifold::tune {

struct TuneOptions {
    std::string device = "auto";
    Effort effort = Effort::quick;
    double budget_seconds = 0;         ///< 0: no end
    int processes = 1;                 ///< that compile at the same time
    std::vector<std::string> command;  ///< `trifold tune`: the program whose hidden verbs search a point and compile a candidate
    double compile_seconds = 60;       ///< of a candidate
    double trial_seconds = 30;         ///< of a candidate on the device
    MeasureOptions measuring = {};
    const std::atomic<bool>* stop = nullptr;  ///< set: end soon, and keep everything
};

/// The end of a point's search.
struct PointResult {
    Point point;
    std::optional<Decision> decision;
    bool was_decided = false;  ///< by an earlier search
    std::string why;           ///< there is no decision
};

/// How far a sweep is.
struct SweepState {
    std::size_t points = 0, done = 0, trials = 0;
    double seconds = 0;                           ///< since it began
    std::map<std::string, std::size_t> failures;  ///< by verdict
    std::string now;                              ///< what was measured last
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

/// Searches all points, the costly ones first. Every trial is in the log as soon as it is made, and what is there already is not measured
/// again. A point is searched by a process of its own: where a candidate ends it, or keeps it longer than trial_seconds, the candidate is
/// logged as one that failed, and the next process goes on behind it. On GPUs several points are in search at the same time: one is
/// measured while others are compiled.
SweepReport sweep(std::vector<Point> points, const Log& log, const TuneOptions& options, const SweepListener& listener);

/// Tells who waits for a search how far it is: {"trial": ..} when a trial begins that may end the process, {"trial": null} behind it,
/// {"kept": verdict, "now": text} once it is logged.
using Tell = std::function<void(const nlohmann::json& event)>;
/// The search of a point in this process: answers from the log what is there, and compiles and measures the rest. The decision is logged.
/// A candidate that is on the device for longer than trial_seconds ends the process by SIGALRM. Throws DeviceError where the device takes
/// no more work.
PointResult search_point(const Point& point, const Log& log, const TuneOptions& options, const Tell& tell = [](const auto&) {});
/// The decision about a point that stands for one of this effort.
std::optional<Decision> known_decision(const Records& records, const Machine& machine, const Point& point, Effort effort);
/// Bytes that a candidate may spill, after these trials of its point. A variant whose knobs are those of the device's rows may spill: time
/// decides. With other knobs it may spill as much as then, and without limit where the default spills.
std::int64_t max_spills(const Candidate& candidate, const std::vector<Trial>& trials);

/// The argument of the hidden verb `search-point`, and the verb: events and the end are lines on standard output.
std::string task_text(const Point& point, const Log& log, const TuneOptions& options);
void search_point_aloud(const std::string& task);
/// The hidden verb that compiles a candidate into the cache, within a time after which it ends its process.
void compile_candidate(const std::string& task);

}  // namespace trifold::tune
