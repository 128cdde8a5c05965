#include "smoother.hpp"

#include <cmath>

namespace kalman {

trifold::Spec spec_of(const NormalEquations& equations) {
    return {.block = equations.states,
            .horizon = equations.horizon,
            .operations = {trifold::Operation::factor_solve, trifold::Operation::inverse}};
}

Smoothed smooth(const NormalEquations& equations, trifold::Solver& solver) {
    const auto states = equations.states, horizon = equations.horizon;
    std::vector<double> x(equations.b.size()), covariance(equations.d.size()), neighbours(equations.e.size());
    solver.factor_solve<double>(equations.d, equations.e, equations.b, x);
    solver.check();
    solver.selected_inverse<double>(covariance, neighbours);

    Smoothed result;
    result.mean = equations.reference + Eigen::Map<const Eigen::MatrixXd>(x.data(), states, horizon);
    result.deviation.resize(states, horizon);
    for (Eigen::Index t = 0; t < horizon; ++t) {
        for (Eigen::Index i = 0; i < states; ++i) {
            result.deviation(i, t) = std::sqrt(covariance[static_cast<std::size_t>((t * states + i) * states + i)]);
        }
    }
    result.covariance = std::move(covariance);
    result.log_likelihood = log_likelihood(equations, solver.log_determinant().at(0), solver.quadratic().at(0));
    result.relative_residual = relative_residual(equations, x);
    return result;
}

}  // namespace kalman
