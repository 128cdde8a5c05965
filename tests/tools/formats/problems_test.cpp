#include "tools/problems/problems.hpp"

#include "tests/tools/formats/dense.hpp"
#include "tools/problems/random.hpp"
#include "tools/problems/sparse.hpp"

using namespace trifold;
using namespace trifold::problems;

namespace {

double condition(const Eigen::MatrixXd& a) {
    const auto values = Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(a, Eigen::EigenvaluesOnly).eigenvalues();
    return values.maxCoeff() / values.minCoeff();
}

Eigen::MatrixXd as_dense(const formats::BlockRows& rows) {
    const auto matrix = to_sparse(rows);
    Eigen::MatrixXd a = Eigen::MatrixXd::Zero(matrix.rows, matrix.columns);
    for (const auto& [row, column, value] : matrix.entries) a(row, column) = value;
    return a;
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

TEST_CASE("problems: quasi-definite ones, and general ones with a positive definite symmetric part") {
    for (const auto n : {1, 4, 7}) {
        auto system = socu({n, 6}, 42);
        const auto definite = dense_matrix(system);
        take_kind(system, MatrixKind::symmetric, 1);
        const Eigen::VectorXd values = dense_matrix(system).selfadjointView<Eigen::Lower>().eigenvalues();
        CHECK((values.array() < 0).count() == 6 * (n / 2));
        system = socu({n, 6}, 42);
        take_kind(system, MatrixKind::general, 1);
        const auto a = dense_matrix(system);
        CHECK((a + a.transpose() - 2 * definite).cwiseAbs().maxCoeff() <= 1e-12);
        CHECK((a - a.transpose()).cwiseAbs().maxCoeff() > 0.1);
    }
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

TEST_CASE("sparse problems: patterns, blocks and seeds") {
    struct Case {
        const char* name;
        Cells cells;
        std::int64_t block, entries;
    };
    const auto seven = [](std::int64_t w, std::int64_t h, std::int64_t d) { return 7 * w * h * d - 2 * (w * h + h * d + w * d); };
    for (const auto& [name, cells, block, entries] :
         {Case{"sparse-laplacian", {5, 4, 3}, 5, seven(5, 4, 3)}, Case{"sparse-rock", {6, 3, 4}, 1, seven(6, 3, 4)},
          Case{"sparse-reaction", {4, 4, 4}, 3, seven(4, 4, 4)},
          Case{"sparse-convection", {7, 6}, 1, 7 * 6 + 2 * (6 * 6 + 7 * 5 + 6 * 5)},  // edges along both axes, and the diagonals
          Case{"sparse-elasticity", {3, 4, 5}, 3, 7 * 10 * 13}}) {                    // (3 w - 2) (3 h - 2) (3 d - 2)
        CAPTURE(name);
        const auto problem = make_sparse(name, cells, 5, 2, 9);
        CHECK(problem.a.block == block);
        CHECK(problem.a.rows() == cells.count());
        CHECK(std::ssize(problem.a.columns) == entries);
        CHECK(std::ssize(problem.b) == cells.count() * block * 2);
        CHECK(problem.a.values == make_sparse(name, cells, 5, 2, 9).a.values);
        CHECK(problem.a.values != make_sparse(name, cells, 5, 2, 10).a.values);
        const auto a = as_dense(problem.a);
        CHECK(Eigen::FullPivLU<Eigen::MatrixXd>(a).isInvertible());
        const bool is_definite = std::string(name) == "sparse-rock" || std::string(name) == "sparse-elasticity";
        const double unequal = (a - a.transpose()).cwiseAbs().maxCoeff();
        if (is_definite) {
            CHECK(unequal <= 1e-14 * a.cwiseAbs().maxCoeff());
            CHECK(Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(a, Eigen::EigenvaluesOnly).eigenvalues().minCoeff() > 0);
        } else
            CHECK(unequal > 1e-3);
    }
    CHECK_THROWS_AS(make_sparse("sparse-wood", {3, 3, 3}, 1, 1, 1), SpecError);
}

TEST_CASE("sparse problems: elements know constants, slopes and rigid motions") {
    // A body that is not held: moved or turned it has no stress.
    const Cells cells{4, 3, 3};
    const auto elastic = as_dense(make_sparse("sparse-elasticity", cells, 3, 1, 2).a);
    Eigen::VectorXd moved(elastic.rows()), turned(elastic.rows());
    for (std::int64_t row = 0; row < cells.count(); ++row) {
        const auto x = static_cast<double>(row % 4), y = static_cast<double>(row / 4 % 3);
        moved.segment(3 * row, 3) << 1, -2, 3;
        turned.segment(3 * row, 3) << -y, x, 0;
    }
    for (std::int64_t row = 0; row < cells.count(); ++row) {
        if (row % 4 == 0) continue;  // held
        CHECK((elastic * moved).segment(3 * row, 3).norm() <= 1e-13);
        CHECK((elastic * turned).segment(3 * row, 3).norm() <= 1e-13);
    }
    // A constant is changed by reaction alone: 0.01 of the area, which is 1 for an inner point on the average.
    const Cells points{9, 8};
    const auto flow = as_dense(make_sparse("sparse-convection", points, 1, 1, 2).a);
    double area = 0;
    for (std::int64_t row = 0; row < points.count(); ++row) area += (flow.row(row).sum() - (row % 9 == 0 ? 1 : 0)) / 0.01;
    CHECK(area == doctest::Approx(8 * 7));
}
