#include "state_space.hpp"

#include <Eigen/Dense>
#include <cmath>
#include <numbers>

namespace kalman {
namespace {

using Eigen::Index, Eigen::MatrixXd, Eigen::VectorXd;
using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Inverse and log determinant of a positive definite matrix.
struct Precision {
    MatrixXd inverse;
    double log_determinant;
    explicit Precision(const MatrixXd& covariance) {
        const Eigen::LLT<MatrixXd> cholesky(covariance);
        inverse = cholesky.solve(MatrixXd::Identity(covariance.rows(), covariance.cols()));
        log_determinant = 2 * MatrixXd(cholesky.matrixL()).diagonal().array().log().sum();
    }
};

}  // namespace

std::vector<Index> present(const VectorXd& values) {
    std::vector<Index> result;
    for (Index i = 0; i < values.size(); ++i) {
        if (!std::isnan(values(i))) result.push_back(i);
    }
    return result;
}

NormalEquations normal_equations(const Model& model, const MatrixXd& values, const VectorXd& start) {
    const auto states = model.transition.rows(), horizon = values.cols();
    const Precision process(model.process), prior(model.prior);
    const MatrixXd carry = process.inverse * model.transition;   // Q^-1 F
    const MatrixXd kept = model.transition.transpose() * carry;  // F' Q^-1 F
    NormalEquations result{states, horizon, {}, {}, {}, MatrixXd(states, horizon), 0};
    result.d.resize(static_cast<std::size_t>(horizon * states * states));
    result.e.resize(static_cast<std::size_t>((horizon - 1) * states * states));
    result.b.resize(static_cast<std::size_t>(horizon * states));
    const VectorXd ahead = model.mean - start, pull = prior.inverse * ahead;
    result.constant = prior.log_determinant + static_cast<double>(horizon - 1) * process.log_determinant + ahead.dot(pull);
    for (Index t = 0; t < horizon; ++t) {
        result.reference.col(t) = t == 0 ? start : VectorXd(model.transition * result.reference.col(t - 1));
        const auto seen = present(values.col(t));
        const MatrixXd h = model.observation(seen, Eigen::all);
        const Precision noise(model.noise(seen, seen));
        const VectorXd innovation = VectorXd(values(seen, t)) - h * result.reference.col(t);
        Eigen::Map<RowMajor> d(result.d.data() + t * states * states, states, states);
        d = h.transpose() * noise.inverse * h + (t == 0 ? prior.inverse : process.inverse);
        Eigen::Map<VectorXd> b(result.b.data() + t * states, states);
        b = h.transpose() * noise.inverse * innovation;
        if (t == 0) b += pull;
        result.constant += innovation.dot(noise.inverse * innovation) + noise.log_determinant +
                           static_cast<double>(seen.size()) * std::log(2 * std::numbers::pi);
        if (t + 1 == horizon) continue;
        d += kept;
        Eigen::Map<RowMajor>(result.e.data() + t * states * states, states, states) = -carry;
    }
    return result;
}

double log_likelihood(const NormalEquations& equations, double log_determinant, double quadratic) {
    return -(equations.constant + log_determinant - quadratic) / 2;
}

double relative_residual(const NormalEquations& equations, const std::vector<double>& x) {
    const auto n = equations.states;
    const auto block = [&](const std::vector<double>& blocks, Index t) {
        return Eigen::Map<const RowMajor>(blocks.data() + t * n * n, n, n);
    };
    const auto part = [&](const std::vector<double>& vector, Index t) { return Eigen::Map<const VectorXd>(vector.data() + t * n, n); };
    double residual = 0, norm_a = 0, norm_x = 0, norm_b = 0;
    for (Index t = 0; t < equations.horizon; ++t) {
        VectorXd ax = block(equations.d, t) * part(x, t);
        VectorXd row_sums = block(equations.d, t).cwiseAbs().rowwise().sum();
        if (t > 0) {
            ax += block(equations.e, t - 1) * part(x, t - 1);
            row_sums += block(equations.e, t - 1).cwiseAbs().rowwise().sum();
        }
        if (t + 1 < equations.horizon) {
            ax += block(equations.e, t).transpose() * part(x, t + 1);
            row_sums += block(equations.e, t).cwiseAbs().colwise().sum().transpose();
        }
        residual = std::max(residual, (ax - part(equations.b, t)).lpNorm<Eigen::Infinity>());
        norm_a = std::max(norm_a, row_sums.maxCoeff());
        norm_x = std::max(norm_x, part(x, t).lpNorm<Eigen::Infinity>());
        norm_b = std::max(norm_b, part(equations.b, t).lpNorm<Eigen::Infinity>());
    }
    return residual / (norm_a * norm_x + norm_b);
}

}  // namespace kalman
