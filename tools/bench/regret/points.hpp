#pragma once
#include <string>
#include <trifold/generate.hpp>
#include <vector>

#include "tools/bench/suites.hpp"

/// How far the chooser's choice is from the best of its own alternatives: collected on a device, evaluated anywhere.
namespace trifold::regret {

/// A problem that the chooser is asked about.
struct Point {
    bench::Size size;
    Precision precision = Precision::f64;
    bool operator==(const Point&) const = default;
};
std::string to_string(const Point& point);  ///< "50x20x256 f64"
Spec spec_of(const Point& point, const Operations& operations = {Operation::factor, Operation::factor_solve});
/// Bytes of D and E.
std::int64_t data_bytes(const Point& point);

/// Each `thin`-th point of a grid over n, N, the number of systems and the precision, in an order whose beginnings are spread over the
/// whole grid. Points with more data than `most_bytes` are left out.
std::vector<Point> points(int thin, std::int64_t most_bytes);
/// Both precisions of these sizes, in that order.
std::vector<Point> points_of(const std::vector<bench::Size>& sizes);

}  // namespace trifold::regret
