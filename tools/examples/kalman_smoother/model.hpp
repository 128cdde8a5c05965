#pragma once
#include <Eigen/Core>
#include <vector>

#include "series.hpp"
#include "state_space.hpp"

namespace kalman {

/// State: level and slope of each series, one series after another. See the definition for how Q, R and the prior were chosen.
Model local_linear_trend(const std::vector<Series>& series, const Eigen::MatrixXd& values);

/// The state at time 0 of the line through the first and last value of each series.
Eigen::VectorXd line_start(const Eigen::MatrixXd& values);

}  // namespace kalman
