// Refined solutions against dense algebra in double, where A's condition makes plain ones in single precision poor.
#include "tests/export/c99/solver.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

/// A system whose numbers are exact in single precision, with a condition of about `condition`: a multiple of I is taken off that leaves
/// the smallest eigenvalue so much smaller than the largest.
System ill_conditioned(std::int64_t n, std::int64_t horizon, std::int64_t rhs, double condition) {
    auto system = random_system(n, horizon, rhs, 6);
    const auto shift = Eigen::SelfAdjointEigenSolver<Matrix>(system.dense()).eigenvalues();
    const double smallest = shift(0), largest = shift(shift.size() - 1);
    for (auto& block : system.d) {
        block.diagonal().array() -= smallest - largest / condition;
        block = block.cast<float>().cast<double>().eval();
    }
    for (auto& block : system.e) block = block.cast<float>().cast<double>().eval();
    system.b = system.b.cast<float>().cast<double>().eval();
    return system;
}

double forward_error(const Matrix& x, const Matrix& exact) { return (x - exact).cwiseAbs().maxCoeff() / exact.cwiseAbs().maxCoeff(); }

void check_refines(std::int64_t n, std::int64_t horizon, std::int64_t rhs, Build build) {
    CAPTURE(n);
    CAPTURE(build.compiler);
    CAPTURE(build.target);
    build.corrections = 3;
    Exported<float> solver(n, horizon, rhs, build);
    const auto system = ill_conditioned(n, horizon, rhs, 2e4);
    const Matrix exact = system.dense().llt().solve(system.b);
    const auto user = arrays<float>(solver.spec(), {system});
    std::vector<float> x(user.b.size()), refined(user.b.size());
    CHECK(solver.factor_solve(user, x.data()) == fine);
    CHECK(solver.solve_refined(user, refined.data()) == fine);
    const double plain_error = forward_error(gather(solver.spec(), x, 0, rhs), exact);
    const double error = forward_error(gather(solver.spec(), refined, 0, rhs), exact);
    CHECK(error <= 1.5 * std::numeric_limits<float>::epsilon());
    CHECK(plain_error > 20 * std::numeric_limits<float>::epsilon());
}

}  // namespace

TEST_CASE("export: a refined solution in single precision has an error near one rounding, where a plain one has not") {
    check_refines(12, 20, 1, plain());
    check_refines(7, 9, 3, plain("clang-19 -O2 -mfma"));
    auto build = plain("gcc -O3 -march=native");
    build.factorization = Factorization::ldlt;
    check_refines(5, 31, 2, build);
    build = plain();
    build.schedule = "twisted:3";
    check_refines(6, 20, 1, build);
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        check_refines(12, 20, 1, {"c99:avx2", "gcc -O3 -std=gnu11 -march=x86-64-v3 -ffp-contract=off"});
}

TEST_CASE("export: refining ends in a status where plain solving does") {
    auto build = plain();
    build.corrections = 2;
    Exported<double> solver(3, 4, 1, build);
    auto user = arrays<double>(solver.spec(), {random_system(3, 4, 1, 9)});
    std::vector<double> x(user.b.size());
    CHECK(solver.solve_refined(user, x.data()) == Status{not_factored, -1, -1});
    CHECK(solver.factor(user.d.data(), user.e.data()) == fine);
    CHECK(solver.solve_refined(user, x.data()) == fine);
    auto bad = user;
    bad.b[5] = std::numeric_limits<double>::infinity();
    CHECK(solver.solve_refined(bad, x.data()).code == out_of_range);
    bad = user;
    bad.e[7] = std::numeric_limits<double>::quiet_NaN();  // not what was factored: the residual is NaN
    std::vector<double> good(x.size());
    CHECK(solver.solve(user.b.data(), good.data()) == fine);
    CHECK(solver.solve_refined(bad, x.data()).code == out_of_range);
    CHECK(x == good);
}

TEST_CASE("export: refinements and factorizations that cannot be exported are refused") {
    const auto refused = [](ExportRequest bad, const std::string& message) {
        CHECK_THROWS_WITH_AS(export_project(bad), doctest::Contains(message.c_str()), SpecError);
    };
    const auto good = request(4, 6, Precision::f32);
    for (const std::int64_t corrections : {-1, 11}) refused(with_corrections(good, corrections), "give 0 to 10");
    refused(with_ldlt(with_schedule(good, "twisted:2")), "factorization ldlt is of plain C and the sequential schedule");
    refused(with_ldlt(request(4, 6, Precision::f32, 1, "c99:avx2")), "target 'c99:avx2' with schedule sequential has llt");
    auto tables = good;
    tables.prefactored = Prefactored{.d = std::vector<double>(96, 1), .e = std::vector<double>(80)};
    refused(with_ldlt(tables), "factors as constants take no square root");
    refused(with_corrections(tables, 1), "leave the refinement out");
    refused(with_size(request(5, 4, Precision::f64, 1, "c99:neon")), "has one kind of kernels");
    CHECK_THROWS_WITH_AS(parse_optimize("fast"), doctest::Contains("give speed or size"), SpecError);
    CHECK_THROWS_WITH_AS(parse_factorization("cholesky"), doctest::Contains("give llt or ldlt"), SpecError);
}
