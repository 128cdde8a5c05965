#include "model.hpp"

#include <cmath>

namespace kalman {

using Eigen::Index, Eigen::MatrixXd, Eigen::VectorXd;

// Chosen in the tradition of Hodrick and Prescott for quarterly data, lambda = 1600 = 40^2: a slope's shock is 1/40 of the standard
// deviation around the trend; a level's own shock is 1/20 of it, small but not zero. Deviations share one factor, the business
// cycle. The prior is wide: ten deviations around the first value, and a slope of one deviation a quarter around none.
Model local_linear_trend(const std::vector<Series>& series, const MatrixXd& values) {
    const auto count = static_cast<Index>(series.size());
    VectorXd cycle(count), loading(count);
    for (Index i = 0; i < count; ++i) {
        cycle(i) = series[static_cast<std::size_t>(i)].cycle;
        loading(i) = series[static_cast<std::size_t>(i)].loading;
    }
    MatrixXd correlation = loading * loading.transpose();
    correlation.diagonal().setOnes();

    Model model;
    model.transition = MatrixXd::Identity(2 * count, 2 * count);
    model.observation = MatrixXd::Zero(count, 2 * count);
    model.process = model.prior = MatrixXd::Zero(2 * count, 2 * count);
    model.mean = VectorXd::Zero(2 * count);
    model.noise = cycle.asDiagonal() * correlation * cycle.asDiagonal();
    for (Index i = 0; i < count; ++i) {
        const auto level = 2 * i, slope = level + 1;
        model.transition(level, slope) = 1;
        model.observation(i, level) = 1;
        model.process(level, level) = std::pow(cycle(i) / 20, 2);
        model.process(slope, slope) = std::pow(cycle(i) / 40, 2);
        model.prior(level, level) = std::pow(10 * cycle(i), 2);
        model.prior(slope, slope) = std::pow(cycle(i), 2);
        model.mean(level) = std::isnan(values(i, 0)) ? values(i, 1) : values(i, 0);
    }
    return model;
}

VectorXd line_start(const MatrixXd& values) {
    VectorXd start(2 * values.rows());
    for (Index i = 0; i < values.rows(); ++i) {
        const auto times = present(values.row(i));
        const auto slope = (values(i, times.back()) - values(i, times.front())) / static_cast<double>(times.back() - times.front());
        start.segment(2 * i, 2) << values(i, times.front()) - slope * static_cast<double>(times.front()), slope;
    }
    return start;
}

}  // namespace kalman
