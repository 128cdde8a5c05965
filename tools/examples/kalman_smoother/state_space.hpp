#pragma once
#include <Eigen/Core>
#include <vector>

// Linear Gaussian state spaces as block tridiagonal systems: what trifold.models does in Python. Knows nothing of the example's data.
namespace kalman {

/// x(t+1) = F x(t) + w, w ~ N(0, Q);  y(t) = H x(t) + v, v ~ N(0, R);  x(0) ~ N(mean, prior).
struct Model {
    Eigen::MatrixXd transition;   ///< F, states by states
    Eigen::MatrixXd process;      ///< Q, positive definite
    Eigen::MatrixXd observation;  ///< H, observations by states
    Eigen::MatrixXd noise;        ///< R, positive definite
    Eigen::VectorXd mean;
    Eigen::MatrixXd prior;  ///< positive definite
};

/// Indices of the values that are not NaN.
std::vector<Eigen::Index> present(const Eigen::VectorXd& values);

/// The smoothed states minimize a quadratic form whose Hessian A is block tridiagonal: the precision of all states given all
/// observations. A x = b holds for their deviation x from `reference`, a course without noise.
struct NormalEquations {
    Eigen::Index states, horizon;
    std::vector<double> d;      ///< [horizon][states][states]
    std::vector<double> e;      ///< [horizon - 1][states][states], A(t+1, t)
    std::vector<double> b;      ///< [horizon][states]
    Eigen::MatrixXd reference;  ///< states by horizon
    double constant;            ///< the terms of -2 log p(y) that need no factorization
};

/// `values`: observations by times; NaN is a missing one. `start`: of the reference. It changes no result, but the nearer the
/// reference is to the data the fewer digits cancel in the likelihood.
NormalEquations normal_equations(const Model& model, const Eigen::MatrixXd& values, const Eigen::VectorXd& start);

/// log p(y), exact, from log det A and b' A^-1 b.
double log_likelihood(const NormalEquations& equations, double log_determinant, double quadratic);

/// ||A x - b|| / (||A|| ||x|| + ||b||), infinity norms.
double relative_residual(const NormalEquations& equations, const std::vector<double>& x);

}  // namespace kalman
