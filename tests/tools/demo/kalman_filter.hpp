#pragma once
#include <Eigen/Dense>
#include <cmath>
#include <numbers>
#include <vector>

#include "model.hpp"

/// The textbook: a forward filter in covariance form, then the Rauch-Tung-Striebel smoother. Shares nothing with the normal equations.
struct KalmanFilter {
    std::vector<Eigen::VectorXd> mean;        ///< smoothed
    std::vector<Eigen::MatrixXd> covariance;  ///< smoothed
    double log_likelihood = 0;

    KalmanFilter(const kalman::Model& model, const Eigen::MatrixXd& values) {
        const auto& f = model.transition;
        std::vector<Eigen::VectorXd> predicted_mean;
        std::vector<Eigen::MatrixXd> predicted_covariance;
        for (Eigen::Index t = 0; t < values.cols(); ++t) {
            predicted_mean.push_back(t == 0 ? model.mean : Eigen::VectorXd(f * mean.back()));
            predicted_covariance.push_back(t == 0 ? model.prior : Eigen::MatrixXd(f * covariance.back() * f.transpose() + model.process));
            mean.push_back(predicted_mean.back());
            covariance.push_back(predicted_covariance.back());
            std::vector<Eigen::Index> seen;
            for (Eigen::Index i = 0; i < values.rows(); ++i) {
                if (!std::isnan(values(i, t))) seen.push_back(i);
            }
            if (!seen.empty()) update(model.observation(seen, Eigen::all), model.noise(seen, seen), values(seen, t));
        }
        for (auto t = mean.size() - 1; t-- > 0;) {
            const Eigen::MatrixXd gain = predicted_covariance[t + 1].ldlt().solve(f * covariance[t]).transpose();
            mean[t] += gain * (mean[t + 1] - predicted_mean[t + 1]);
            covariance[t] += gain * (covariance[t + 1] - predicted_covariance[t + 1]) * gain.transpose();
        }
    }

  private:
    void update(const Eigen::MatrixXd& h, const Eigen::MatrixXd& noise, const Eigen::VectorXd& values) {
        const Eigen::MatrixXd spread = h * covariance.back() * h.transpose() + noise;
        const Eigen::LLT<Eigen::MatrixXd> cholesky(spread);
        const Eigen::VectorXd innovation = values - h * mean.back();
        const Eigen::MatrixXd gain = cholesky.solve(h * covariance.back()).transpose();
        mean.back() += gain * innovation;
        // Joseph's form stays positive definite
        const Eigen::MatrixXd rest = Eigen::MatrixXd::Identity(h.cols(), h.cols()) - gain * h;
        covariance.back() = (rest * covariance.back() * rest.transpose() + gain * noise * gain.transpose()).eval();
        const double log_determinant = 2 * Eigen::MatrixXd(cholesky.matrixL()).diagonal().array().log().sum();
        log_likelihood -= (innovation.dot(cholesky.solve(innovation)) + log_determinant +
                           static_cast<double>(values.size()) * std::log(2 * std::numbers::pi)) /
                          2;
    }
};
