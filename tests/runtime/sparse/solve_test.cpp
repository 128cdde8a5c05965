#include <Eigen/LU>
#include <Eigen/SparseLU>

#include "tests/runtime/sparse/shared.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

/// -Laplace with Dirichlet values, plus convection in x: kron with a dense block.
BlockMatrix flow(const SparseMesh& mesh, std::int64_t block, double convection) {
    const SparsePattern pattern(mesh);
    BlockMatrix a{block, {pattern.starts().begin(), pattern.starts().end()}, {pattern.columns().begin(), pattern.columns().end()}, {}};
    for (std::int64_t row = 0; row < a.rows(); ++row)
        for (auto k = a.starts[static_cast<std::size_t>(row)]; k < a.starts[static_cast<std::size_t>(row) + 1]; ++k) {
            const auto away = a.columns[static_cast<std::size_t>(k)] - row;
            const double value = away == 0 ? mesh.points - 1 : away == 1 ? -1 + convection : away == -1 ? -1 - convection : -1;
            for (std::int64_t i = 0; i < block; ++i)
                for (std::int64_t j = 0; j < block; ++j) a.values.push_back(value * (i == j ? 1 : 0.1 / static_cast<double>(1 + i + j)));
        }
    return a;
}

}  // namespace

TEST_CASE("sparse: BiCGSTAB reaches the true residual that was asked for") {
    for (const std::int64_t block : {1, 2, 3, 4}) {
        CAPTURE(block);
        const auto a = flow({20, 18, 9, 7}, block, 0.3);
        const auto b = random_vector(a.size(), 2);
        for (const auto preconditioner : {SparsePreconditioner::ildu0, SparsePreconditioner::dilu, SparsePreconditioner::ildu1,
                                          SparsePreconditioner::jacobi, SparsePreconditioner::none}) {
            CAPTURE(to_string(preconditioner));
            auto solver = updated({.block = block, .preconditioner = preconditioner}, a, {.rows = 400});
            std::vector<double> x(b.size());
            solver.solve(b, x, {.rtol = 1e-10});
            solver.check();
            const auto outcome = solver.outcomes().front();
            CHECK(residual_of(a, x, b) <= 1.01e-10);
            CHECK(outcome.relative() == doctest::Approx(residual_of(a, x, b)).epsilon(1e-4));
            const auto history = solver.history();
            CHECK(history.size() == static_cast<std::size_t>(outcome.iterations) + 1);
            CHECK(history.front() == doctest::Approx(outcome.norm_b));
            CHECK(history.back() == outcome.residual);
            solver.solve_transposed(b, x, {.rtol = 1e-10});
            solver.check();
            CHECK((as_vector(b) - a.eigen().transpose() * as_vector(x)).norm() <= 1.01e-10 * as_vector(b).norm());
        }
    }
}

TEST_CASE("sparse: one subdomain takes fewer iterations than many, and both agree with a direct solution") {
    const auto a = flow({31, 37, 1, 5}, 1, 0.2);
    const auto b = random_vector(a.size(), 4);
    Eigen::SparseMatrix<double> by_columns = a.eigen();
    Eigen::SparseLU<Eigen::SparseMatrix<double>> lu(by_columns);
    const Eigen::VectorXd exact = lu.solve(as_vector(b));
    std::vector<std::int64_t> iterations;
    for (const auto& partition :
         {SparsePartition{.by = SparsePartitioning::whole}, SparsePartition{.by = SparsePartitioning::greedy, .rows = 50}}) {
        auto solver = updated({}, a, partition);
        std::vector<double> x(b.size());
        solver.solve(b, x, {.rtol = 1e-12});
        solver.check();
        CHECK((as_vector(x) - exact).norm() <= 1e-9 * exact.norm());
        iterations.push_back(solver.outcomes().front().iterations);
    }
    CHECK(iterations[0] < iterations[1]);
}

TEST_CASE("sparse: a block tridiagonal matrix in one subdomain is solved exactly, and the tridiagonal family agrees") {
    constexpr std::int64_t block = 4, horizon = 30, square = block * block;
    std::vector<std::int64_t> starts{0}, columns;
    for (std::int64_t row = 0; row < horizon; ++row) {
        for (auto column = std::max<std::int64_t>(0, row - 1); column < std::min(horizon, row + 2); ++column) columns.push_back(column);
        starts.push_back(static_cast<std::int64_t>(columns.size()));
    }
    const auto a = random_blocks(block, starts, columns, 3, 1.1, true);
    const auto b = random_vector(a.size(), 8);
    std::vector<double> d(static_cast<std::size_t>(horizon * square)), e(static_cast<std::size_t>((horizon - 1) * square)), x(b.size()),
        y(b.size());
    for (std::int64_t row = 0; row < horizon; ++row)
        for (auto k = a.starts[static_cast<std::size_t>(row)]; k < a.starts[static_cast<std::size_t>(row) + 1]; ++k) {
            const auto column = a.columns[static_cast<std::size_t>(k)];
            auto* to = column == row  ? &d[static_cast<std::size_t>(row * square)]
                       : column < row ? &e[static_cast<std::size_t>(column * square)]
                                      : nullptr;
            if (to != nullptr) std::copy_n(a.values.begin() + static_cast<std::ptrdiff_t>(k * square), square, to);
        }
    Solver first(Plan(Spec{.block = block, .horizon = horizon}, Device::cpu()));
    first.factor_solve(d, e, b, y);
    first.check();
    auto solver = updated({.block = block}, a, {.by = SparsePartitioning::whole});
    solver.apply(b, x);
    CHECK((as_vector(x) - as_vector(y)).norm() <= 1e-13 * as_vector(y).norm());
    solver.solve(b, x);
    solver.check();
    CHECK(solver.outcomes().front().iterations <= 1);
    CHECK((as_vector(x) - as_vector(y)).norm() <= 1e-13 * as_vector(y).norm());
}

TEST_CASE("sparse: conjugate gradients, and what they say of a matrix that is not symmetric") {
    auto a = scattered(500, 4, 3, 31, true);
    const auto b = random_vector(a.size(), 2);
    for (const auto preconditioner : {SparsePreconditioner::ic0, SparsePreconditioner::jacobi, SparsePreconditioner::none}) {
        const SparsePlan plan({.block = 3, .preconditioner = preconditioner, .method = SparseMethod::cg}, a.pattern(), Device::cpu(),
                              {.rows = 60});
        SparseSolver solver(plan);
        solver.update(a.values);
        std::vector<double> x(b.size());
        solver.solve(b, x, {.rtol = 1e-11});
        solver.check();
        CHECK(residual_of(a, x, b) <= 1.01e-11);
    }
    const auto row = std::int64_t{77}, k = a.starts[77];
    a.values[static_cast<std::size_t>(9 * k + 1)] += 0.25;
    auto solver = updated({.block = 3, .method = SparseMethod::cg}, a);
    const auto& values = solver.values().front();
    CHECK(values.unequal == 2);
    CHECK(values.unequal_row == std::min(row, a.columns[static_cast<std::size_t>(k)]));
    CHECK_THROWS_AS(solver.check(), SparseFailed);
}

TEST_CASE("sparse: GMRES, with restarts and without") {
    const auto a = flow({20, 18, 9, 7}, 2, 0.6);
    const auto b = random_vector(a.size(), 2);
    std::vector<std::int64_t> iterations;
    for (const std::int64_t restart : {1, 5, 32}) {
        CAPTURE(restart);
        auto solver = updated({.block = 2, .method = SparseMethod::gmres, .restart = restart}, a, {.rows = 400});
        std::vector<double> x(b.size());
        solver.solve(b, x, {.rtol = 1e-10});
        solver.check();
        CHECK(residual_of(a, x, b) <= 1.01e-10);
        iterations.push_back(solver.outcomes().front().iterations);
        CHECK(solver.history().size() == static_cast<std::size_t>(iterations.back()) + 1);
        solver.solve_transposed(b, x, {.rtol = 1e-10});
        solver.check();
        CHECK((as_vector(b) - a.eigen().transpose() * as_vector(x)).norm() <= 1.01e-10 * as_vector(b).norm());
        solver.solve(b, x, {.rtol = 1e-17});
        CHECK(solver.outcomes().front().end == SparseEnd::stagnated);
    }
    CHECK(iterations[0] > iterations[1]);
    CHECK(iterations[1] >= iterations[2]);
    // Residuals of GMRES never grow, and with all vectors it ends exactly.
    const auto small = scattered(10, 3, 2, 3);
    const auto right = random_vector(small.size(), 1);
    SparseSolver solver(SparsePlan({.block = 2, .preconditioner = SparsePreconditioner::none, .method = SparseMethod::gmres, .restart = 20},
                                   small.pattern(), Device::cpu()));
    solver.update(small.values);
    std::vector<double> x(right.size());
    solver.solve(right, x, {.rtol = 1e-13});
    solver.check();
    CHECK(solver.outcomes().front().iterations <= 20);
    const auto history = solver.history();
    for (std::size_t k = 1; k < history.size(); ++k) CHECK(history[k] <= history[k - 1] * (1 + 1e-12) + 1e-13 * history[0]);
}

TEST_CASE("sparse: threads change no bit") {
    const auto a = flow({24, 24, 24, 7}, 3, 0.2);
    const auto b = random_vector(2 * a.size(), 2);
    std::vector<std::vector<double>> all;
    for (const int workers : {1, 2, 5}) {
        auto solver = updated({.block = 3, .rhs = 2}, a, {.rows = 300}, {.workers = workers});
        std::vector<double> x(b.size());
        solver.solve(b, x);
        solver.check();
        all.push_back(x);
        std::vector<double> again(b.size());
        solver.solve(b, again);
        CHECK(again == x);
    }
    CHECK(all[0] == all[1]);
    CHECK(all[0] == all[2]);
}

TEST_CASE("sparse: right-hand sides and matrices of a batch are solved as if they were alone") {
    const auto a = flow({9, 8, 7, 7}, 2, 0.1);
    auto other = a;
    for (auto& value : other.values) value *= 1.5;
    for (std::int64_t row = 0; row < a.rows(); ++row)
        other.values[static_cast<std::size_t>(4 * a.starts[static_cast<std::size_t>(row)])] += 0.01;
    constexpr std::int64_t columns = 5;
    SparseSolver one(SparsePlan({.block = 2}, a.pattern(), Device::cpu(), {.rows = 100}));
    SparseSolver many(SparsePlan({.block = 2, .rhs = 3, .batch = 2}, a.pattern(), Device::cpu(), {.rows = 100}));
    auto values = a.values;
    values.insert(values.end(), other.values.begin(), other.values.end());
    many.update(values);
    const auto b = random_vector(2 * a.size() * columns, 3);
    std::vector<double> x(b.size());
    many.solve(b, x, {.columns = columns});
    many.check();
    CHECK(many.outcomes().size() == 2 * columns);
    for (std::int64_t member = 0; member < 2; ++member) {
        one.update(member == 0 ? a.values : other.values);
        for (std::int64_t column = 0; column < columns; ++column) {
            std::vector<double> alone, expected;
            for (std::int64_t k = 0; k < a.size(); ++k) {
                const auto place = static_cast<std::size_t>((member * a.size() + k) * columns + column);
                alone.push_back(b[place]);
                expected.push_back(x[place]);
            }
            std::vector<double> y(alone.size());
            one.solve(alone, y);
            CHECK(y == expected);
            CHECK(one.outcomes().front() == many.outcomes()[static_cast<std::size_t>(member * columns + column)]);
        }
    }
}

TEST_CASE("sparse: ends of an iteration other than convergence") {
    const auto a = flow({20, 20, 10, 7}, 1, 0.3);
    const auto b = random_vector(a.size(), 2);
    std::vector<double> x(b.size());
    auto solver = updated({}, a, {.rows = 100});
    solver.solve(b, x, {.maxiter = 3});
    CHECK(solver.outcomes().front().end == SparseEnd::limit);
    CHECK(solver.outcomes().front().iterations == 3);
    CHECK(solver.outcomes().front().relative() == doctest::Approx(residual_of(a, x, b)));
    CHECK_THROWS_AS(solver.check(), SparseFailed);
    solver.solve(b, x, {.rtol = 1e-17});
    CHECK(solver.outcomes().front().end == SparseEnd::stagnated);
    CHECK(residual_of(a, x, b) < 1e-13);
    auto bad = b;
    bad[17] = std::nan("");
    solver.solve(bad, x);
    CHECK(solver.outcomes().front().end == SparseEnd::not_a_number);
    const std::vector<double> zero(b.size(), 0.0);
    x.assign(x.size(), 1);
    solver.solve(zero, x, {.guess = true});
    CHECK(solver.outcomes().front().ok());
    CHECK(x == zero);
    // A skew matrix: the first product with the shadow residual is zero.
    const BlockMatrix skew{1, {0, 2, 4}, {0, 1, 0, 1}, {0, 1, -1, 0}};
    auto none = updated({.preconditioner = SparsePreconditioner::none}, skew);
    std::vector<double> two(2);
    none.solve(std::vector<double>{1, 0}, two);
    CHECK(none.outcomes().front().end == SparseEnd::breakdown);
}

TEST_CASE("sparse: a first guess, and true residuals on the way") {
    const auto a = flow({20, 20, 10, 7}, 1, 0.3);
    const auto b = random_vector(a.size(), 2);
    std::vector<double> x(b.size());
    auto solver = updated({}, a, {.rows = 100});
    solver.solve(b, x);
    const auto iterations = solver.outcomes().front().iterations;
    solver.solve(b, x, {.guess = true});
    CHECK(solver.outcomes().front().iterations == 0);
    for (auto& value : x) value *= 1 + 1e-6;
    solver.solve(b, x, {.guess = true});
    solver.check();
    CHECK(solver.outcomes().front().iterations < iterations);
    solver.solve(b, x, {.renew = 4});
    solver.check();
    CHECK(residual_of(a, x, b) <= 1.01e-8);
    CHECK(solver.outcomes().front().iterations < 2 * iterations);
}
