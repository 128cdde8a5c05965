#include "smoother.hpp"

#include "picture.hpp"
#include "tests/support/test.hpp"
#include "tests/tools/demo/kalman_filter.hpp"

using namespace kalman;
using Eigen::Index, Eigen::MatrixXd, Eigen::VectorXd;

namespace {

const auto missing = std::numeric_limits<double>::quiet_NaN();

struct Problem {
    Model model;
    MatrixXd values;
    VectorXd start;
};

Problem macro() {
    const auto table = read_table(MACRO_DATA, macro_series());
    return {local_linear_trend(macro_series(), table.values), table.values, line_start(table.values)};
}

/// A stable system with everything dense, and every seventh value missing.
Problem random_problem(Index states, Index observations, Index horizon) {
    std::mt19937_64 random(static_cast<std::uint64_t>(1000 * states + horizon));
    std::normal_distribution<double> normal;
    const auto gauss = [&](Index rows, Index columns) {
        return MatrixXd(MatrixXd::NullaryExpr(rows, columns, [&] { return normal(random); }));
    };
    const auto covariance = [&](Index size) {
        const auto factor = gauss(size, size);
        return MatrixXd(factor * factor.transpose() / static_cast<double>(size) + 0.1 * MatrixXd::Identity(size, size));
    };
    Problem problem;
    problem.model = {0.9 * MatrixXd(gauss(states, states).householderQr().householderQ()),
                     covariance(states),
                     gauss(observations, states),
                     covariance(observations),
                     gauss(states, 1),
                     covariance(states)};
    problem.start = gauss(states, 1);
    problem.values = gauss(observations, horizon);
    for (Index k = 3; k < problem.values.size(); k += 7) problem.values(k % observations, k / observations) = missing;
    return problem;
}

void check_against_filter(const Problem& problem, const trifold::Tuning& tuning) {
    const KalmanFilter filter(problem.model, problem.values);
    const auto equations = normal_equations(problem.model, problem.values, problem.start);
    const trifold::Plan plan(spec_of(equations), trifold::Device::cpu(), tuning);
    trifold::Solver solver(plan);
    const auto smoothed = smooth(equations, solver);
    const auto n = equations.states;
    double mean_error = 0, covariance_error = 0, deviation_error = 0;
    for (Index t = 0; t < equations.horizon; ++t) {
        const auto& mean = filter.mean[static_cast<std::size_t>(t)];
        const auto& covariance = filter.covariance[static_cast<std::size_t>(t)];
        // each state in units of its own uncertainty
        const VectorXd scale = covariance.diagonal().array().sqrt();
        const Eigen::Map<const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>> ours(
            smoothed.covariance.data() + t * n * n, n, n);
        mean_error = std::max(mean_error, ((smoothed.mean.col(t) - mean).array() / scale.array()).abs().maxCoeff());
        covariance_error = std::max(
            covariance_error, (scale.asDiagonal().inverse() * (ours - covariance) * scale.asDiagonal().inverse()).cwiseAbs().maxCoeff());
        deviation_error = std::max(deviation_error, (smoothed.deviation.col(t).array() / scale.array() - 1).abs().maxCoeff());
    }
    CHECK(mean_error < 1e-7);
    CHECK(covariance_error < 1e-7);
    CHECK(deviation_error < 1e-7);
    CHECK(smoothed.log_likelihood == doctest::Approx(filter.log_likelihood).epsilon(1e-10));
    CHECK(smoothed.relative_residual < 1e-14);
}

}  // namespace

TEST_CASE("means, variances and likelihood of the macroeconomic model are those of the Kalman filter and RTS smoother") {
    const auto problem = macro();
    for (const auto* schedule : {"auto", "twisted:2", "recursive:3"}) {
        CAPTURE(schedule);
        check_against_filter(problem, {.schedule = schedule});
    }
}

TEST_CASE("so are those of dense random models with missing values") {
    check_against_filter(random_problem(1, 1, 1), {});
    check_against_filter(random_problem(1, 1, 9), {});
    check_against_filter(random_problem(5, 3, 2), {});
    check_against_filter(random_problem(7, 2, 31), {.schedule = "multi-stage"});
    check_against_filter(random_problem(3, 4, 17), {.schedule = "partitioned:3"});
}

TEST_CASE("a time without any value only carries the state over") {
    auto problem = random_problem(4, 2, 8);
    problem.values.col(3).setConstant(missing);
    problem.values.col(7).setConstant(missing);
    check_against_filter(problem, {});
}

TEST_CASE("the picture has a panel a series") {
    const auto table = read_table(MACRO_DATA, macro_series());
    const KalmanFilter filter(macro().model, table.values);
    Smoothed smoothed{MatrixXd(24, 203), MatrixXd(24, 203), {}, 0, 0};
    for (Index t = 0; t < 203; ++t) {
        smoothed.mean.col(t) = filter.mean[static_cast<std::size_t>(t)];
        smoothed.deviation.col(t) = filter.covariance[static_cast<std::size_t>(t)].diagonal().array().sqrt();
    }
    const auto svg = draw_trends(table, macro_series(), smoothed);
    for (const auto& series : macro_series()) CHECK(says(svg, series.title));
    CHECK(!says(svg, "nan"));
    CHECK(!says(svg, "inf,"));
    CHECK(svg.ends_with("</svg>\n"));
}
