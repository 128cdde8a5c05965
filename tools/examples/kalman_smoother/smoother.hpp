#pragma once
#include <Eigen/Core>
#include <trifold/trifold.hpp>
#include <vector>

#include "state_space.hpp"

namespace kalman {

struct Smoothed {
    Eigen::MatrixXd mean;            ///< states by horizon, given all observations
    Eigen::MatrixXd deviation;       ///< their standard deviations
    std::vector<double> covariance;  ///< [horizon][states][states]
    double log_likelihood;
    double relative_residual;
};

/// What to specialize a solver for.
trifold::Spec spec_of(const NormalEquations& equations);

/// Factors and solves the normal equations, then takes the variances from the selected inverse. The solver's Spec is that of
/// `spec_of`. Throws trifold::Unsolvable.
Smoothed smooth(const NormalEquations& equations, trifold::Solver& solver);

}  // namespace kalman
