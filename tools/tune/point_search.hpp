#pragma once
#include <map>
#include <mutex>

#include "tools/tune/compile.hpp"
#include "tools/tune/ledger.hpp"
#include "tools/tune/watchdog.hpp"

namespace trifold::tune {

/// What the searches of a sweep take turns with.
struct Workshop {
    const Device& device;
    const TuneOptions& options;
    Ledger& ledger;
    CompilePool& pool;
    Watchdog& watchdog;
    std::mutex& turn;  ///< held by the thread that measures
    std::function<double(const std::string&, const std::string&)> promise;
};

/// The search of one point: answers from the database what is there, and compiles and measures the rest.
class PointSearch {
  public:
    PointSearch(const Workshop& workshop, const Point& point);
    /// Throws SpecError where nothing takes the point, CompilePool::Stopped when the sweep is over.
    PointResult run();

  private:
    std::vector<Trial> answer(const std::vector<Candidate>& candidates, const Round& round);
    Trial trial_of(const Candidate& candidate, const Round& round) const;
    const Trial* known(const Candidate& candidate, const Round& round) const;
    void try_one(Trial& trial, const Round& round);
    void try_by_turns(std::vector<Trial>& trials, const Round& round);
    void keep(const Trial& trial);
    void check_device(const Trial& trial);

    const Workshop& workshop_;
    const Point point_;
    const Space space_;
    PointBench bench_;
    std::vector<Trial> trials_;  // of the point, those of earlier runs first
    double best_seconds_ = 0;
};

}  // namespace trifold::tune
