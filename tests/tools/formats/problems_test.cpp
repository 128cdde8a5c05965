#include "tools/problems/problems.hpp"

#include <doctest/doctest.h>

#include <Eigen/Dense>
#include <numeric>
#include <trifold/error.hpp>

#include "tests/tools/formats/dense.hpp"
#include "tools/problems/random.hpp"

using namespace trifold;
using namespace trifold::problems;

namespace {

double condition(const Eigen::MatrixXd& a) {
    const auto values = Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(a, Eigen::EigenvaluesOnly).eigenvalues();
    return values.maxCoeff() / values.minCoeff();
}

}  // namespace

TEST_CASE("random: the sequence is fixed, the moments are right") {
    Random random(42);
    CHECK(random.uniform() == static_cast<double>(13930160852258120406ULL >> 11) * 0x1p-53);  // the engine is fixed by the C++ standard
    double mean = 0, square = 0;
    constexpr int count = 100000;
    for (int k = 0; k < count; ++k) {
        const auto value = random.normal();
        mean += value / count;
        square += value * value / count;
    }
    CHECK(std::abs(mean) < 0.02);
    CHECK(square == doctest::Approx(1).epsilon(0.02));
}

TEST_CASE("problems: symmetric, reproducible, and members are the single problems with later seeds") {
    for (const auto* name : {"socu", "blockdss", "dominant", "kalman"}) {
        INFO(name);
        const auto batch = make(name, {6, 5, 2, 3}, 10);
        CHECK(batch == make(name, {6, 5, 2, 3}, 10));
        const auto third = make(name, {6, 5, 2, 1}, 12);
        CHECK(std::equal(third.d.begin(), third.d.end(), batch.d.begin() + 2 * static_cast<std::ptrdiff_t>(third.d.size())));
        CHECK(std::equal(third.b.begin(), third.b.end(), batch.b.begin() + 2 * static_cast<std::ptrdiff_t>(third.b.size())));
        const auto a = dense_matrix(third);
        CHECK(a == a.transpose());
    }
}

TEST_CASE("problems: positive definite, with the conditioning the field reports") {
    CHECK(condition(dense_matrix(socu({32, 16}, 42))) < 1e3);
    CHECK(condition(dense_matrix(socu({1, 50}, 42))) < 10);
    for (const auto n : {8, 16, 33}) CHECK(condition(dense_matrix(blockdss({n, 20}, 42))) < 1e4);
    for (const auto n : {1, 2, 5, 32}) CHECK(condition(dense_matrix(dominant({n, 20}, 42))) < 10);
    for (const auto n : {2, 6, 32}) CHECK(condition(dense_matrix(kalman({n, 10}, 42))) < 1e3);
}

TEST_CASE("problems: socu's factor is what it says, b of blockdss is A x") {
    const Eigen::MatrixXd factor = dense_matrix(socu({5, 4}, 3)).llt().matrixL();
    for (int i = 0; i < 20; ++i) {
        CHECK(factor(i, i) >= 10);
        CHECK(factor(i, i) < 11);
        for (int j = i / 5 * 5 - 5; j < i; ++j) {
            if (j >= 0) CHECK(factor(i, j) > -1e-12);
            if (j >= 0) CHECK(factor(i, j) < 1);
        }
    }
    const auto system = blockdss({9, 6}, 42);
    const Eigen::VectorXd x = dense_matrix(system).llt().solve(Eigen::Map<const Eigen::VectorXd>(system.b.data(), 54));
    CHECK(x.minCoeff() >= 0);
    CHECK(x.maxCoeff() < 1);
}

TEST_CASE("problems: the Kalman smoother recovers its path") {
    // With 4 n observations a step of unit noise and |H x|^2 = 4 |x|^2, the posterior deviation of a state is below 0.5.
    const auto system = kalman({8, 60}, 42);
    const auto a = dense_matrix(system);
    const Eigen::VectorXd x = a.llt().solve(Eigen::Map<const Eigen::VectorXd>(system.b.data(), 480));
    CHECK(a.inverse().diagonal().maxCoeff() < 0.25);
    CHECK(x.tail(240).norm() / std::sqrt(240.0) > 0.2);  // stationary deviation sqrt(0.04 / (1 - 0.98^2)) = 1
    CHECK(x.tail(240).norm() / std::sqrt(240.0) < 3);
}

TEST_CASE("problems: bad sizes and names") {
    CHECK_THROWS_AS(kalman({7, 3}, 1), SpecError);
    CHECK_THROWS_AS(socu({0, 3}, 1), SpecError);
    CHECK_THROWS_AS(socu({3, 0}, 1), SpecError);
    CHECK_THROWS_AS(socu({1024, std::int64_t{1} << 60}, 1), SpecError);
    CHECK_THROWS_AS(make("poisson", {3, 3}, 1), SpecError);
}
