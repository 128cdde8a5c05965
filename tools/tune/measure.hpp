#pragma once
#include <functional>
#include <limits>
#include <memory>

#include "tools/tune/family.hpp"
#include "tools/tune/search.hpp"

namespace trifold::tune {

/// Seconds of one call, as a clock says.
using Timed = std::function<double()>;

struct MeasureOptions {
    bool hot = false;        ///< the same arrays again and again, which then may stay in the caches
    std::uint64_t seed = 0;  ///< of the data
    /// Called when a candidate begins to use the device, which may never end.
    std::function<void(const Trial&)> begin = {};
    /// Sees what a candidate computed before it is judged. For tests, which make wrong candidates of it.
    std::function<void(const Candidate&, Outputs&)> poison = {};
    /// In place of a candidate's own clock, for tests.
    std::function<Timed(const Candidate&, Timed)> clock = {};
};

/// Measures candidates of one point on a device, one at a time. Memory is taken at the first measurement.
class PointBench {
  public:
    PointBench(Point point, Device device, MeasureOptions options);
    ~PointBench();
    /// Fills in verdict, why, seconds, spread, runs, residual and spills. What goes wrong is a verdict. By turns the results are compared
    /// with those of the first trial, and who is there twice has two times. Candidates that spill more than `max_spills` are not timed.
    void measure(std::vector<Trial>& trials, const Round& round, std::int64_t max_spills = std::numeric_limits<std::int64_t>::max());
    /// False after a launch has failed in such a way that the process must end.
    bool works() const { return works_; }

  private:
    class Timing;
    void attempt(Trial& trial, const std::function<void()>& work);
    void check(Trial& trial, Prepared& prepared, std::int64_t max_spills) const;
    Timed timed(Prepared& prepared, const Candidate& candidate, const std::string& operation) const;
    Outputs outputs(Prepared& prepared, const Candidate& candidate) const;
    void factor(Prepared& prepared) const;
    std::shared_ptr<Prepared> prepare(const Candidate& candidate, bool cached);
    void compare(std::vector<Trial>& trials, const std::vector<std::shared_ptr<Prepared>>& prepared);

    const Point point_;
    const TunedFamily& family_;
    const Device device_;
    const MeasureOptions options_;
    std::unique_ptr<DeviceTools> tools_;
    std::unique_ptr<PointData> data_;
    bool works_ = true;
};

/// How many copies of its arrays a point's calls take by turns: with them the arrays do not fit into the caches, or there are many.
std::int64_t sets_of(const Point& point, const Device& device, bool hot);

/// Thrown where a clock says again and again what cannot be.
class ClockError : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// How often is measured: `warm_up` calls that do not count, then until `seconds` have gone, but at least `least` and at most `most` times.
struct Repeats {
    int warm_up = 2, least = 5, most = 50;
    double seconds = 0.01;
};

/// Seconds of each call. A time that is no number, or below `floor`, is no time: the call is made again. Throws ClockError after several
/// such times in a row.
std::vector<double> take_series(const Timed& timed, const Repeats& repeats, double floor);

/// Throws TooLarge where workspace and data need nearly all of the device's memory, or more.
void check_memory(std::int64_t workspace_bytes, std::int64_t data_bytes, const Device& device);

/// The device as trials name it: by wisdom's name of it, its target, and its driver.
Machine machine_of(const Device& device);

}  // namespace trifold::tune
