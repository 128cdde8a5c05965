// Matrices that are singular to the precision: what an exported factorization says of them, and of those that are barely not.
#include "tests/export/c99/solver.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

using Exact = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;
template <class Real>
constexpr double nearly_zero = 64 * static_cast<double>(std::numeric_limits<Real>::epsilon());

/// Differences of neighbours, weighted by a matrix of full rank: constants cost nothing. An anchor is a part of the first block.
System walk(std::int64_t n, std::int64_t horizon, double anchor) {
    const Matrix weight = random_system(n, 1, 1, 11).dense();
    System walk{{}, {}, Matrix::Ones(n * horizon, 1)};
    for (std::int64_t i = 0; i < horizon; ++i) {
        const int neighbours = (i > 0) + (i + 1 < horizon);
        walk.d.push_back(weight * (neighbours + (i == 0 ? anchor : 0)));
        if (i + 1 < horizon) walk.e.push_back(-weight);
    }
    return walk;
}

/// Rows and columns in units of their own: powers of `base`, with exponents up to `most`.
System scaled(System system, double base, int most) {
    std::mt19937 random(5);
    std::uniform_int_distribution<int> exponent(-most, most);
    std::vector<Matrix> units;
    for (const auto& block : system.d) {
        Eigen::VectorXd unit(block.rows());
        for (auto& value : unit) value = std::pow(base, exponent(random));
        units.emplace_back(unit.asDiagonal());
    }
    for (std::size_t i = 0; i < system.d.size(); ++i) {
        system.d[i] = units[i] * system.d[i] * units[i];
        if (i < system.e.size()) system.e[i] = units[i + 1] * system.e[i] * units[i];
    }
    return system;
}

/// A system of which one pivot is about `part` of the diagonal entry that it began with; all others are of ordinary size.
System with_pivot(std::int64_t n, std::int64_t horizon, std::int64_t block, std::int64_t row, double part) {
    const auto ordinary = random_system(n, horizon, 1, 23);
    Matrix l = ordinary.dense().llt().matrixL();
    const auto k = block * n + row;
    l(k, k) = 0;
    l(k, k) = std::sqrt(part) * l.row(k).norm();
    const Matrix a = l * l.transpose();
    auto system = ordinary;
    for (std::int64_t i = 0; i < horizon; ++i) {
        system.d[static_cast<std::size_t>(i)] = a.block(i * n, i * n, n, n);
        if (i + 1 < horizon) system.e[static_cast<std::size_t>(i)] = a.block((i + 1) * n, i * n, n, n);
    }
    return system;
}

/// Of the matrix in the precision, in more than it.
template <class Real>
double exact_least_pivot(const System& system) {
    const Exact a = system.dense().template cast<Real>().template cast<long double>();
    const Exact l = a.llt().matrixL();
    return static_cast<double>((l.diagonal().array().square() / a.diagonal().array()).minCoeff());
}

Build with(Factorization factorization, const std::string& schedule = "sequential", Coupling coupling = Coupling::lower) {
    auto build = plain("gcc -O0");
    build.factorization = factorization;
    build.schedule = schedule;
    build.coupling = coupling;
    return build;
}

template <class Real>
Arrays<Real> given(const Exported<Real>& solver, const System& system) {
    return arrays<Real>(solver.spec(), {system});
}

template <class Real>
void check_walks(std::int64_t n, std::int64_t horizon, const Build& build) {
    INFO(n, " ", horizon, " ", sizeof(Real), " ", build.schedule);
    Exported<Real> solver(n, horizon, 1, build);
    std::vector<Real> x(static_cast<std::size_t>(n * horizon));
    for (const int most : {0, 5}) {
        CAPTURE(most);
        const auto free = given(solver, scaled(walk(n, horizon, 0), 10, most));
        const auto code = solver.factor(free.d.data(), free.e.data()).code;
        CHECK((code == nearly_singular || code == not_positive_definite));
        CHECK(solver.least_pivot(free.d.data()) < nearly_zero<Real>);
        CHECK(solver.factor_solve(free, x.data()).code != ok);
        for (const double anchor : {sizeof(Real) == 8 ? 1e-6 : 1e-2, sizeof(Real) == 8 ? 1e-5 : 2e-3}) {
            const auto system = scaled(walk(n, horizon, anchor), 10, most);
            const auto anchored = given(solver, system);
            CHECK(solver.factor_solve(anchored, x.data()) == fine);
            const auto least = solver.least_pivot(anchored.d.data());
            CHECK(least > nearly_zero<Real>);
            if (build.schedule == "sequential") CHECK(least == doctest::Approx(exact_least_pivot<Real>(system)).epsilon(0.1));
        }
    }
}

/// A status and a least pivot that do not depend on powers of two.
template <class Real>
void check_units(const Build& build) {
    Exported<Real> solver(5, 7, 1, build);
    for (const double anchor : {0.0, 1e-2}) {
        const auto system = walk(5, 7, anchor);
        const auto usual = given(solver, system), units = given(solver, scaled(system, 2, 25));
        const auto status = solver.factor(usual.d.data(), usual.e.data());
        const auto least = solver.least_pivot(usual.d.data());
        CHECK(solver.factor(units.d.data(), units.e.data()) == status);
        CHECK(solver.least_pivot(units.d.data()) == least);
        CHECK((least < nearly_zero<Real>) == (anchor == 0));
    }
}

/// The pivot is named, all is computed, and every call says so.
template <class Real>
void check_pivot(std::int64_t n, std::int64_t block, std::int64_t row, Build build) {
    INFO(n, " ", row);
    constexpr std::int64_t horizon = 5;
    build.corrections = 1;
    Exported<Real> solver(n, horizon, 1, build);
    const auto system = with_pivot(n, horizon, block, row, 30 * static_cast<double>(std::numeric_limits<Real>::epsilon()));
    const auto user = given(solver, system);
    const Status expected{nearly_singular, static_cast<int>(block), static_cast<int>(row)};
    std::vector<Real> x(user.b.size()), again = x;
    CHECK(solver.factor(user.d.data(), user.e.data()) == expected);
    CHECK(solver.least_pivot(user.d.data()) == doctest::Approx(exact_least_pivot<Real>(system)).epsilon(0.5));
    CHECK(solver.solve(user.b.data(), x.data()) == expected);
    CHECK(relative_residual(system.dense(), gather(solver.spec(), x, 0, 1), system.b) <= 10 * tolerance<Real>);
    CHECK(solver.factor_solve(user, again.data()) == expected);
    CHECK(again == x);
    CHECK(solver.solve_refined(user, again.data()).code != ok);
    if (build.in_place()) {
        auto overwritten = user;
        CHECK(solver.refactor(overwritten.d.data(), overwritten.e.data()) == expected);
        CHECK(solver.solve(user.b.data(), again.data()) == expected);
        CHECK(again == x);
    }
    auto bad = user.b;
    bad.front() = std::numeric_limits<Real>::quiet_NaN();
    CHECK(solver.solve(bad.data(), again.data()).code == out_of_range);
}

/// X of a system with a pivot that is nearly zero.
std::string solved_bits(const ExportRequest& asked, const System& system) {
    auto request = asked;
    const auto user = arrays<double>(request.spec, {system});
    const Project project(request);
    const auto built = project.run("gcc -O2 -std=c99 -ffp-contract=off -shared -fPIC -o solver.so btd_solver.c -lm");
    REQUIRE_MESSAGE(built.status == 0, built.out);
    const Library library(project.path() / "solver.so");
    std::vector<std::max_align_t> memory(library.function<std::size_t()>("btd_workspace_size")() / sizeof(std::max_align_t) + 1);
    auto* workspace = library.function<void*(void*)>("btd_init")(memory.data());
    std::vector<double> x(user.b.size());
    using Solve = Status(void*, const double*, const double*, const double*, double*);
    CHECK(library.function<Solve>("btd_factor_solve")(workspace, user.d.data(), user.e.data(), user.b.data(), x.data()).code ==
          nearly_singular);
    return {reinterpret_cast<const char*>(x.data()), x.size() * sizeof(double)};
}

}  // namespace

TEST_CASE("export: random walks without an anchor are never ok, those with a weak one are") {
    for (const std::int64_t horizon : {7, 50})
        for (std::int64_t n = 1; n <= 6; ++n) {
            check_walks<double>(n, horizon, with(Factorization::llt));
            check_walks<float>(n, horizon, with(n % 2 == 0 ? Factorization::ldlt : Factorization::llt));
        }
    check_walks<double>(3, 50, with(Factorization::ldlt));
    check_walks<double>(4, 50, with(Factorization::llt, "partitioned:3"));
    check_walks<float>(5, 7, with(Factorization::llt, "twisted:2"));
    check_walks<float>(7, 7, with(Factorization::llt, "sequential", Coupling::upper));
}

TEST_CASE("export: kernels find random walks without an anchor never ok, those with a weak one ok") {
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return;
    const Build build{"c99:avx2", "gcc -O1 -std=gnu11 -march=x86-64-v3 -ffp-contract=fast"};
    check_walks<double>(3, 50, build);
    check_walks<float>(6, 7, build);
    check_units<double>(build);
    check_units<float>(build);
}

TEST_CASE("export: the least pivot does not depend on powers of two by which rows and columns are scaled") {
    check_units<double>(with(Factorization::llt));
    check_units<float>(with(Factorization::llt));
    check_units<double>(with(Factorization::ldlt));
    check_units<float>(with(Factorization::llt, "partitioned:2"));
}

TEST_CASE("export: a pivot that is nearly zero is named, and the system is solved all the same") {
    for (const std::int64_t n : {1, 5, 13})
        for (const auto row : {std::int64_t{0}, n / 2, n - 1}) {
            check_pivot<double>(n, 2, row, with(Factorization::llt));
            check_pivot<float>(n, 4, row, with(Factorization::ldlt));
        }
    check_pivot<float>(7, 0, 3, with(Factorization::llt));
    check_pivot<double>(7, 1, 3, with(Factorization::llt, "twisted:2"));
    check_pivot<double>(4, 3, 3, with(Factorization::llt, "sequential", Coupling::upper));
}

TEST_CASE("export: the bits of a system with a pivot that is nearly zero do not depend on how blocks are factored") {
    for (const std::int64_t n : {5, 13})
        for (const auto row : {std::int64_t{1}, n - 2})
            for (const auto factorization : {Factorization::llt, Factorization::ldlt}) {
                auto asked = request(n, 5, Precision::f64);
                asked.factorization = factorization;
                const auto system = with_pivot(n, 5, 2, row, 30 * std::numeric_limits<double>::epsilon());
                CHECK(solved_bits(with_speed(asked), system) == solved_bits(with_size(asked), system));
            }
}

TEST_CASE("export: infinity and NaN on the diagonal are never taken for a pivot") {
    for (const auto factorization : {Factorization::llt, Factorization::ldlt}) {
        Exported<float> solver(2, 3, 1, with(factorization));
        const auto sound = given(solver, random_system(2, 3, 1, 3));
        const auto infinity = std::numeric_limits<float>::infinity();
        for (const float value : {infinity, -infinity, std::nanf(""), 0.0f, -1.0f, 1e-39f})
            for (std::size_t block = 0; block < 3; ++block) {
                auto user = sound;
                user.d[block * 4 + 3] = value;
                CHECK(solver.factor(user.d.data(), user.e.data()) == Status{not_positive_definite, static_cast<int>(block), 1});
                CHECK(solver.least_pivot(user.d.data()) == 0);
            }
    }
}
