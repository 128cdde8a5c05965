#pragma once
#include <Eigen/Core>
#include <string>
#include <vector>

namespace kalman {

/// One series: how its column is read, and what is assumed of it.
struct Series {
    std::string column;  ///< in the file's header
    std::string title, unit;
    bool grows;      ///< then its state is 100 times the logarithm, and differences are percent
    double cycle;    ///< standard deviation around the trend, in units of the state
    double loading;  ///< of that deviation on the business cycle common to all series, -1 to 1
};

/// The twelve series of data/us-macro-1959-2009.csv.
const std::vector<Series>& macro_series();

/// A value of the file to units of the state, and back.
double to_state(const Series& series, double value);
double from_state(const Series& series, double state);

struct Table {
    std::vector<int> year, quarter;
    Eigen::MatrixXd values;  ///< series by quarters, in units of the state; NaN where there is no value
};

/// Reads the file's columns of `series`. Throws std::runtime_error naming the line and what is wrong with it.
Table read_table(const std::string& path, const std::vector<Series>& series);

}  // namespace kalman
