// What "converged" promises, at scales over the whole range, judged by sums in long double.
#include "tests/runtime/sparse/shared.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

/// -x'' on a line, of blocks of 1, with other values where wanted.
BlockMatrix line(std::int64_t rows, double diagonal = 2, double beside = -1) {
    BlockMatrix a;
    for (std::int64_t row = 0; row < rows; ++row) {
        for (auto column = std::max<std::int64_t>(row - 1, 0); column < std::min(row + 2, rows); ++column) {
            a.columns.push_back(column);
            a.values.push_back(column == row ? diagonal : beside);
        }
        a.starts.push_back(static_cast<std::int64_t>(a.columns.size()));
    }
    return a;
}

/// The Laplacian of size x size pixels with Neumann conditions all around: each row sums to 0.
BlockMatrix plate(std::int64_t size) {
    BlockMatrix a;
    for (std::int64_t row = 0; row < size * size; ++row) {
        std::vector<std::int64_t> columns{row};
        if (row >= size) columns.push_back(row - size);
        if (row % size > 0) columns.push_back(row - 1);
        if (row % size < size - 1) columns.push_back(row + 1);
        if (row < size * (size - 1)) columns.push_back(row + size);
        const auto neighbours = static_cast<double>(columns.size() - 1);
        std::ranges::sort(columns);
        for (const auto column : columns) {
            a.columns.push_back(column);
            a.values.push_back(column == row ? neighbours : -1);
        }
        a.starts.push_back(static_cast<std::int64_t>(a.columns.size()));
    }
    return a;
}

/// |b - A x| / |b| as it stands, and with rows scaled so that their largest entries are between 1 and 2.
struct Residual {
    long double plain, by_rows;
};
template <class Real>
Residual residual_in_long_double(const BlockMatrix& a, const std::vector<Real>& values, const std::vector<Real>& x,
                                 const std::vector<Real>& b, bool transposed) {
    const auto rows = static_cast<std::size_t>(a.rows());
    std::vector<long double> r(b.begin(), b.end()), largest(rows, 0);
    for (std::size_t row = 0; row < rows; ++row)
        for (auto k = static_cast<std::size_t>(a.starts[row]); k < static_cast<std::size_t>(a.starts[row + 1]); ++k) {
            const auto column = static_cast<std::size_t>(a.columns[k]);
            const auto to = transposed ? column : row, from = transposed ? row : column;
            r[to] -= static_cast<long double>(values[k]) * static_cast<long double>(x[from]);
            largest[to] = std::max(largest[to], std::abs(static_cast<long double>(values[k])));
        }
    long double plain[2]{}, scaled[2]{};
    for (std::size_t row = 0; row < rows; ++row) {
        const auto factor = largest[row] > 0 ? std::exp2(-std::floor(std::log2(largest[row]))) : 1;
        plain[0] += r[row] * r[row];
        plain[1] += static_cast<long double>(b[row]) * static_cast<long double>(b[row]);
        scaled[0] += r[row] * factor * (r[row] * factor);
        scaled[1] += static_cast<long double>(b[row]) * factor * (static_cast<long double>(b[row]) * factor);
    }
    return {std::sqrt(plain[0] / plain[1]), std::sqrt(scaled[0] / scaled[1])};
}

template <class Real>
std::vector<Real> as(const std::vector<double>& numbers) {
    return {numbers.begin(), numbers.end()};
}
template <class Real>
constexpr Precision precision_of = sizeof(Real) == 4 ? Precision::f32 : Precision::f64;
constexpr std::array methods{SparseMethod::bicgstab, SparseMethod::cg, SparseMethod::gmres};

template <class Real>
SparseOutcome outcome_at(double of_a, double of_b, SparseMethod method, bool transposed, Residual& residual) {
    const auto a = line(25, 4);
    auto values = as<Real>(a.values);
    for (auto& value : values) value *= static_cast<Real>(of_a);
    const std::vector<Real> b(25, static_cast<Real>(of_b));
    std::vector<Real> x(25);
    SparseSolver solver(SparsePlan({.precision = precision_of<Real>, .method = method}, a.pattern(), Device::cpu()));
    solver.update(values);
    transposed ? solver.solve_transposed(b, x) : solver.solve(b, x);
    residual = residual_in_long_double(a, values, x, b, transposed);
    return solver.outcomes().front();
}

/// A small system of some kind: dominant, a line, penalties, rows of very different size, symmetric, or nearly singular.
struct RandomSystem {
    BlockMatrix a;
    std::vector<double> b;
    bool symmetric = false;
};
RandomSystem random_system(std::mt19937& random, double decades) {
    const auto uniform = [&](double from, double to) { return std::uniform_real_distribution<double>(from, to)(random); };
    const auto power = [&](double most) { return std::pow(10.0, uniform(-most, most)); };
    constexpr std::array<std::int64_t, 8> sizes{1, 2, 3, 5, 7, 9, 17, 33};
    const auto rows = sizes[random() % sizes.size()];
    const auto kind = random() % 6;
    RandomSystem system{line(rows), random_vector(rows, static_cast<unsigned>(random())), false};
    auto& a = system.a;
    if (kind == 0 || kind == 4) a = scattered(rows, 3, 1, static_cast<unsigned>(random()), kind == 4);
    system.symmetric = kind == 1 || kind == 2 || kind == 4;
    for (std::int64_t row = 0; row < rows; ++row) {
        const double scale = kind == 3 ? power(decades / 2) : 1;
        for (auto k = static_cast<std::size_t>(a.starts[static_cast<std::size_t>(row)]);
             k < static_cast<std::size_t>(a.starts[static_cast<std::size_t>(row) + 1]); ++k) {
            if (kind == 2 && a.columns[k] == row && random() % 4 == 0) a.values[k] = std::pow(10.0, uniform(4, decades));
            if (kind == 5) a.values[k] = a.columns[k] == row ? 1 + power(1) * 1e-12 : row < a.columns[k] ? 1 : 0.5;
            a.values[k] *= scale;
        }
        if (kind == 3) system.b[static_cast<std::size_t>(row)] *= scale;
    }
    const double of_a = random() % 3 == 0 ? power(decades) : 1, of_b = random() % 3 == 0 ? power(decades) : 1;
    for (auto& value : a.values) value *= of_a;
    for (auto& value : system.b) value *= of_b;
    return system;
}

/// Counts those that say they have converged.
template <class Real>
int check_random_systems(int count, unsigned seed, Precision precision, double decades, const std::vector<double>& tolerances) {
    std::mt19937 random(seed);
    int converged = 0;
    for (int k = 0; k < count; ++k) {
        const auto system = random_system(random, decades);
        const auto method = methods[random() % (system.symmetric ? 3 : 2) * (system.symmetric ? 1 : 2)];
        constexpr std::array preconditioners{SparsePreconditioner::ildu0, SparsePreconditioner::jacobi, SparsePreconditioner::none};
        const auto preconditioner = preconditioners[random() % 3];
        const bool transposed = random() % 3 == 0, guesses = random() % 5 == 0;
        const double tolerance = tolerances[random() % tolerances.size()];
        const auto values = as<Real>(system.a.values), b = as<Real>(system.b);
        if (!std::ranges::all_of(values, [](Real v) { return std::isfinite(v); }) ||
            !std::ranges::all_of(b, [](Real v) { return std::isfinite(v); }) ||
            std::ranges::all_of(b, [](Real v) { return std::abs(v) < std::numeric_limits<Real>::min(); }) ||
            std::ranges::any_of(values, [](Real v) { return v != 0 && std::abs(v) < std::numeric_limits<Real>::min(); }))
            continue;
        SparseSolver solver(SparsePlan({.precision = precision, .preconditioner = preconditioner, .method = method, .maxiter = 200},
                                       system.a.pattern(), Device::cpu(), {.by = SparsePartitioning::greedy, .rows = 5}));
        solver.update(values);
        if (!solver.values().front().ok()) continue;
        auto x = as<Real>(random_vector(static_cast<std::int64_t>(b.size()), seed + static_cast<unsigned>(k)));
        const SparseOptions options{.rtol = tolerance, .guess = guesses};
        transposed ? solver.solve_transposed(b, x, options) : solver.solve(b, x, options);
        if (!solver.outcomes().front().ok()) continue;
        ++converged;
        const auto residual = residual_in_long_double(system.a, values, x, b, transposed);
        INFO(seed, " ", k, " ", to_string(method), " ", transposed);
        CHECK(residual.plain <= 1.05L * tolerance);
        CHECK(residual.by_rows <= 1.05L * tolerance);
    }
    return converged;
}

}  // namespace

TEST_CASE("sparse: an x beyond the range of its type has a status of its own") {
    for (const auto method : methods)
        for (const bool transposed : {false, true}) {
            INFO(to_string(method), " ", transposed);
            Residual residual{};
            for (const auto& [a, b] : {std::pair(1e-200, 1e200), {1e200, 1e-200}, {1e160, 1e-160}})
                CHECK(outcome_at<double>(a, b, method, transposed, residual).end == SparseEnd::out_of_range);
            for (const auto& [a, b] : {std::pair(1e-30, 1e30), {1e20, 1e-22}})
                CHECK(outcome_at<float>(a, b, method, transposed, residual).end == SparseEnd::out_of_range);
            // At the edges of the range all is as usual.
            for (const auto& [a, b] : {std::pair(1e-300, 1e-300), {1e300, 1e300}, {1e-150, 1e150}, {1e150, 1e-150}}) {
                CHECK(outcome_at<double>(a, b, method, transposed, residual).ok());
                CHECK(residual.plain <= 1.05e-8L);
            }
            for (const auto& [a, b] : {std::pair(1e-37, 1e-37), {1e37, 1e37}, {1e-18, 1e18}, {1e16, 1e-16}}) {
                CHECK(outcome_at<float>(a, b, method, transposed, residual).ok());
                CHECK(residual.plain <= 1.05e-5L);
            }
        }
}

TEST_CASE("sparse: one column beyond the range leaves the others as they are") {
    const auto a = line(9, 4);
    auto values = a.values;
    for (auto& value : values) value *= 1e-200;
    SparseSolver solver(SparsePlan({.rhs = 2}, a.pattern(), Device::cpu()));
    solver.update(values);
    std::vector<double> b, x(18);
    for (int row = 0; row < 9; ++row) b.insert(b.end(), {1.0, 1e200});
    solver.solve(b, x);
    CHECK(solver.outcomes()[0].ok());
    CHECK(solver.outcomes()[1].end == SparseEnd::out_of_range);
    CHECK_THROWS_WITH_AS(solver.check(), doctest::Contains("x is too large or too small for its type"), SparseFailed);
}

TEST_CASE("sparse: rows of a penalty do not hide the others, in A and in A'") {
    for (const auto method : methods)
        for (const double penalty : {1e8, 1e12, 1e20, 1e30}) {
            INFO(to_string(method), " ", penalty);
            const std::int64_t rows = 60;
            auto a = line(rows);
            std::vector<double> b(static_cast<std::size_t>(rows), 1e-2), x(b.size());
            for (std::size_t k = 0; k < a.columns.size(); ++k)
                if (a.columns[k] % 20 == 0 &&
                    k == static_cast<std::size_t>(std::max<std::int64_t>(3 * a.columns[k] - 1 + (a.columns[k] > 0), 0)))
                    a.values[k] = penalty;
            for (std::size_t row = 0; row < b.size(); row += 20) b[row] = penalty;
            // Between fixed values of 1 the solution of -x'' = 1e-2 is a parabola.
            auto solver = updated({.method = method}, a, {.by = SparsePartitioning::greedy, .rows = 15});
            solver.solve(b, x, {.rtol = 1e-10});
            solver.check();
            CHECK(x[10] == doctest::Approx(1.5).epsilon(1e-6));
            CHECK(x[30] == doctest::Approx(1.5).epsilon(1e-6));
            solver.solve_transposed(b, x, {.rtol = 1e-10});
            solver.check();
            CHECK(x[10] == doctest::Approx(1.5).epsilon(1e-6));
        }
}

TEST_CASE("sparse: of random systems none says that it has converged whose residual is above the tolerance") {
    const std::vector fine{1e-4, 1e-8, 1e-12, 1e-14}, coarse{1e-2, 1e-4, 1e-6};
    CHECK(check_random_systems<double>(1200, 1, Precision::f64, 200, fine) > 500);
    CHECK(check_random_systems<double>(400, 2, Precision::mixed, 25, fine) > 150);
    CHECK(check_random_systems<float>(1200, 3, Precision::f32, 25, coarse) > 400);
}

TEST_CASE("sparse: without a tolerance f32 is asked for what it can reach") {
    const auto a = line(36, 4);
    SparseSolver solver(SparsePlan({.precision = Precision::f32}, a.pattern(), Device::cpu()));
    solver.update(as<float>(a.values));
    std::vector<float> b(36, 1), x(36);
    solver.solve(b, x);
    solver.check();
    solver.solve(b, x, {.rtol = 1e-12});
    CHECK(solver.outcomes().front().end == SparseEnd::stagnated);
    CHECK_THROWS_WITH_AS(solver.check(), doctest::Contains("f64 in place of f32"), SparseFailed);
}

TEST_CASE("sparse: a tolerance of 0 goes on to rounding, and ends as stagnated") {
    const auto a = line(40, 3);
    for (const auto method : methods) {
        CAPTURE(to_string(method));
        auto solver = updated({.method = method}, a, {.by = SparsePartitioning::greedy, .rows = 8});
        std::vector<double> b = random_vector(40, 3), x(40);
        solver.solve(b, x, {.rtol = 0});
        const auto outcome = solver.outcomes().front();
        CHECK((outcome.end == SparseEnd::stagnated || outcome.residual == 0));
        CHECK(outcome.relative() < 1e-15);
    }
}

TEST_CASE("sparse: of a b outside the range of A the x of least residual is handed over") {
    for (const auto method : methods) {
        CAPTURE(to_string(method));
        auto a = line(50);
        a.values.front() = a.values.back() = 1;  // Neumann at both ends
        auto solver = updated({.preconditioner = SparsePreconditioner::jacobi, .method = method}, a);
        std::vector<double> b = random_vector(50, 5), x(50);
        for (auto& value : b) value += 0.3;
        solver.solve(b, x);
        const auto outcome = solver.outcomes().front();
        CHECK(!outcome.ok());
        // The norms of b and of the residual are rounded one by one.
        CHECK(outcome.relative() <= 1 + 1e-12);
        CHECK(static_cast<double>(residual_in_long_double(a, a.values, x, b, false).plain) == doctest::Approx(outcome.relative()));
        CHECK_THROWS_AS(solver.check(), SparseFailed);
    }
}

TEST_CASE("sparse: an x whose residual only seemed small is not handed over") {
    const auto a = plate(14);
    for (const auto method : methods)
        for (const auto preconditioner : {SparsePreconditioner::jacobi, SparsePreconditioner::ildu0, SparsePreconditioner::ildu1})
            for (const unsigned seed : {1U, 2U, 3U}) {
                INFO(to_string(method), " ", to_string(preconditioner), " ", seed);
                auto solver = updated({.preconditioner = preconditioner, .method = method}, a);
                const std::vector<double> b = random_vector(a.rows(), seed);
                std::vector<double> x(a.rows());
                solver.solve(b, x);
                CHECK(!solver.outcomes().front().ok());
                CHECK(residual_in_long_double(a, a.values, x, b, false).plain <= 1.1L);
            }
}

TEST_CASE("sparse: conjugate gradients go on in their direction after a look at the true residual") {
    const auto a = line(300, 2.01);
    auto solver = updated({.preconditioner = SparsePreconditioner::jacobi, .method = SparseMethod::cg}, a);
    std::vector<double> b(300, 1), x(300);
    solver.solve(b, x);
    const auto usual = solver.outcomes().front().iterations;
    solver.solve(b, x, {.renew = 1});
    solver.check();
    CHECK(solver.outcomes().front().iterations <= usual + 5);
}

TEST_CASE("sparse: a first guess that is worse than none, beside a b of any size, is dropped") {
    const auto a = line(25, 4);
    for (const auto method : methods)
        for (const double size : {1e-160, 1e-300, 1.0, 1e200}) {
            INFO(to_string(method), " ", size);
            auto solver = updated({.method = method}, a);
            std::vector<double> b(25, size), x(25, 1e3 * size + 1);
            solver.solve(b, x, {.guess = true});
            solver.check();
            CHECK(residual_in_long_double(a, a.values, x, b, false).plain <= 1.05e-8L);
            const auto kept = x;
            solver.solve(b, x, {.guess = true});
            CHECK(solver.outcomes().front().iterations == 0);
            CHECK(x == kept);
        }
    auto solver = updated({}, a);
    std::vector<double> b(25, 1), x(25, std::nan(""));
    solver.solve(b, x, {.guess = true});
    CHECK(solver.outcomes().front().end == SparseEnd::not_a_number);
}

TEST_CASE("sparse: cg takes a matrix that is symmetric but for rounding, against its diagonal") {
    // A matrix as of assembled finite elements: zeros that are not quite, of either sign.
    const BlockMatrix a{1, {0, 3, 6, 9}, {0, 1, 2, 0, 1, 2, 0, 1, 2}, {4, -1, 1e-18, -1, 4, -1, -1e-18, -1, 4}};
    SparseSolver solver(SparsePlan({.method = SparseMethod::cg}, a.pattern(), Device::cpu()));
    std::vector<double> b{1, 2, 3}, x(3);
    solver.update(a.values);
    solver.solve(b, x);
    solver.check();
    auto other = a;
    other.values[2] = 1e-10;
    solver.update(other.values);
    CHECK(solver.values().front().unequal == 2);
    for (auto& value : other.values) value *= 1e-200;
    solver.update(other.values);
    CHECK(solver.values().front().unequal == 2);
}

TEST_CASE("sparse: rows whose units are far apart") {
    const BlockMatrix a{1, {0, 1, 2}, {0, 1}, {1e20, 1e-20}};
    SparseSolver solver(SparsePlan({.precision = Precision::f32}, a.pattern(), Device::cpu()));
    solver.update(as<float>(a.values));
    std::vector<float> b{1e20F, 1e-20F}, x(2);
    solver.solve(b, x);
    solver.check();
    CHECK(x[0] == doctest::Approx(1));
    CHECK(x[1] == doctest::Approx(1));
}

TEST_CASE("sparse: room for many iterations is no room for their history") {
    const auto a = line(10);
    const SparsePlan few({.maxiter = 10}, a.pattern(), Device::cpu()), many({.maxiter = 16'000'000}, a.pattern(), Device::cpu());
    CHECK(many.program().workspace_bytes < few.program().workspace_bytes + 200'000);
}
