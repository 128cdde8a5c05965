#pragma once
#include <functional>
#include <stdexcept>
#include <trifold/device.hpp>
#include <vector>

#include "tools/tune/point.hpp"

namespace trifold::tune {

/// Seconds of one call, as a clock says.
using Timed = std::function<double()>;

/// Thrown where a clock says again and again what cannot be.
class ClockError : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// How often is measured: `warm_up` calls that do not count, then until `seconds` have gone, but at least `least` and at most `most` times.
struct Repeats {
    int warm_up = 2, least = 5, most = 50;
    double seconds = 0.01;
};

/// Seconds of each call. A time that is zero, negative, no number, or below `floor` is no time: the call is made again. Throws ClockError
/// after several such times in a row.
std::vector<double> take_series(const Timed& timed, const Repeats& repeats, double floor);

/// Less than any device can need for an operation of a point: by its flops, by its bytes where the data do not fit into caches, and by what
/// a launch takes.
double least_seconds(const Point& point, std::string_view operation, const Device& device);

/// Of a device's caches that data may stay in, with room to spare.
std::int64_t cache_bytes(const Device& device);

}  // namespace trifold::tune
