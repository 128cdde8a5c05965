#include "runtime/base/condition.hpp"

#include <doctest/doctest.h>

#include <Eigen/Dense>
#include <cmath>
#include <limits>
#include <random>

using namespace trifold;

namespace {

Applied inverse_of(const Eigen::MatrixXd& a) {
    return [lu = a.partialPivLu()](std::span<double> x) {
        Eigen::Map<Eigen::VectorXd> values(x.data(), static_cast<Eigen::Index>(x.size()));
        const Eigen::VectorXd solved = lu.solve(values);
        values = solved;
    };
}

double norm_1(const Eigen::MatrixXd& a) { return a.cwiseAbs().colwise().sum().maxCoeff(); }

double estimate(const Eigen::MatrixXd& a) { return inverse_norm_estimate(a.rows(), inverse_of(a), inverse_of(a.transpose())); }

}  // namespace

TEST_CASE("the norm of an inverse is estimated, never above it and seldom far below") {
    std::mt19937 generator(1);
    std::normal_distribution<double> normal;
    double worst = 1;
    for (int seed = 0; seed < 200; ++seed)
        for (const int n : {1, 2, 3, 8, 40}) {
            Eigen::MatrixXd a(n, n);
            for (auto& value : a.reshaped()) value = normal(generator);
            for (int k = 0; seed % 2 == 1 && k < n; ++k) a.row(k) *= std::pow(10, normal(generator));
            const double exact = norm_1(a.inverse()), found = estimate(a);
            CHECK(found <= exact * (1 + 1e-8));
            worst = std::min(worst, found / exact);
        }
    CHECK(worst >= 1 / 4.0);
}

TEST_CASE("the estimate of a matrix whose columns cancel, of a diagonal one and of a singular one") {
    Eigen::MatrixXd pairs = Eigen::MatrixXd::Identity(4, 4);
    pairs.col(0) << 1, -1, 1, -1;
    CHECK(estimate(pairs.inverse()) >= 4 / 3.0);  // 0.75 and 1 without the last try
    CHECK(estimate(Eigen::Vector3d(1, 1e-200, 4).asDiagonal()) == doctest::Approx(1e200));
    const Applied nothing = [](std::span<double> x) { x[0] = std::numeric_limits<double>::quiet_NaN(); };
    CHECK(std::isinf(inverse_norm_estimate(3, nothing, nothing)));
    CHECK(inverse_norm_estimate(0, nothing, nothing) == 0);
}
