#pragma once
#include <limits>
#include <memory>

#include "tools/bench/device_tools.hpp"
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

/// Random arrays of a point on a device, each in `sets` copies, which calls take one after the other.
class PointData {
  public:
    PointData(const Point& point, std::uint64_t seed, DeviceTools& tools, std::int64_t sets);
    AnyArray at(const std::string& array, std::int64_t set) const;
    /// The members of the first set's array that differ, that of system 0 first.
    std::vector<double> read(const std::string& array, std::int64_t first_member = 0) const;
    void poison(const std::string& array) const;  ///< the first set becomes NaN
    double residual() const;                      ///< of the first and the last members of "x", the worst
    std::int64_t sets() const { return sets_; }

  private:
    struct Place {
        std::int64_t elements, bytes;  // of a set; the latter with what aligns the next one
        std::shared_ptr<void> memory;
    };
    DeviceTools& tools_;
    std::int64_t sets_, batch_;
    Precision precision_;
    RandomProblem problem_;
    std::map<std::string, Place> places_;
};

/// Measures candidates of one point on a device, one at a time. Memory is taken at the first measurement.
class PointBench {
  public:
    PointBench(Point point, Device device, MeasureOptions options);
    /// Fills in verdict, why, seconds, spread, runs, residual and spills. What goes wrong is a verdict. By turns the results are compared
    /// with those of the first trial, and who is there twice has two times. Candidates that spill more than `max_spills` are not timed.
    void measure(std::span<Trial> trials, const Round& round, std::int64_t max_spills = std::numeric_limits<std::int64_t>::max());
    /// False after a launch has failed in such a way that the process must end.
    bool works() const { return works_; }

  private:
    struct Running;
    void attempt(Trial& trial, const std::function<void()>& work);
    std::shared_ptr<Solving> prepare(const Candidate& candidate, bool cached);
    void run(const Solving& solving, const std::string& operation, std::int64_t set = 0) const;
    void check(const Solving& solving) const;
    void factor(const Solving& solving) const;
    void judge(Trial& trial, const Solving& solving, std::int64_t max_spills) const;
    Outputs outputs(const Solving& solving, const Candidate& candidate) const;
    Timed timed(const Solving& solving, const Candidate& candidate, const std::string& operation) const;

    const Point point_;
    const TunedFamily& family_;
    const Device device_;
    const MeasureOptions options_;
    std::unique_ptr<DeviceTools> tools_;
    std::unique_ptr<PointData> data_;
    bool works_ = true;
};

/// How the second differ from the first by more than solutions with residuals up to the family's tolerance do: "inverse, by 3e-2". Empty:
/// they agree.
std::string difference(const Outputs& first, const Outputs& second, const Point& point);

/// How many copies of its arrays a point's calls take by turns: with them the arrays do not fit into the caches, or there are many.
std::int64_t sets_of(const Point& point, const Device& device, bool hot);

/// How often is measured: `warm_up` calls that do not count, then until `seconds` have gone, but at least `least` and at most `most` times.
struct Repeats {
    int warm_up = 2, least = 5, most = 50;
    double seconds = 0.01;
};
/// Seconds of each call. A time that is no number, or below `floor`, is no time: the call is made again. Throws DeviceError after several
/// such times in a row.
std::vector<double> take_series(const Timed& timed, const Repeats& repeats, double floor);

/// The device as trials name it: by wisdom's name of it, its target, and its driver.
Machine machine_of(const Device& device);

}  // namespace trifold::tune
