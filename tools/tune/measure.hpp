#pragma once
#include <functional>
#include <memory>
#include <optional>

#include "tools/tune/family.hpp"
#include "tools/tune/search.hpp"

namespace trifold::tune {

struct MeasureOptions {
    bool hot = false;        ///< the same arrays again and again, which then may stay in the caches
    std::uint64_t seed = 0;  ///< of the data
    /// Called when a candidate begins to use the device, which may never end.
    std::function<void(const Trial&)> begin = {};
    /// Sees what a candidate computed before it is judged. For tests, which make wrong candidates of it.
    std::function<void(const Candidate&, Outputs&)> spoil = {};
    /// In place of a candidate's own clock, for tests.
    std::function<Timed(const Candidate&, Timed)> clock = {};
};

/// Measures candidates of one point on a device, one at a time. Memory is taken at the first measurement.
class PointBench {
  public:
    PointBench(Point point, Device device, MeasureOptions options);
    ~PointBench();
    /// Fills in verdict, why, seconds, spread, runs, residual and kernels. `most_spills`: bytes. What goes wrong is a verdict;
    /// only a device that takes no more work is an exception as well: see works().
    void measure(Trial& trial, const Round& round, std::int64_t most_spills);
    /// All in turn; the first is the default, whose results the others' are compared with, and one that is there twice has two times.
    void measure_by_turns(std::vector<Trial>& trials, const Round& round);
    /// False after a launch has failed in such a way that the process must end.
    bool works() const { return works_; }

  private:
    class Timing;
    void attempt(Trial& trial, const std::function<void()>& work);
    void check(Trial& trial, Prepared& prepared) const;
    std::vector<Timing> timings_of(const Candidate& candidate, Prepared& prepared) const;
    void compare(std::vector<Trial>& trials, std::vector<std::shared_ptr<Prepared>>& prepared);
    const PointData& data(bool cached);

    const Point point_;
    const Device device_;
    const MeasureOptions options_;
    std::unique_ptr<DeviceTools> tools_;
    std::unique_ptr<PointData> data_;
    std::int64_t sets_ = 0;  // that the data have
    bool works_ = true;
};

/// How many copies of its arrays a point's calls take in turn: with them the arrays do not fit into the caches, or there are many.
std::int64_t sets_of(const Point& point, const Device& device, bool hot);

/// What trials of this device are filed under: what wisdom calls it, its target, and its driver.
Machine machine_of(const Device& device);

}  // namespace trifold::tune
