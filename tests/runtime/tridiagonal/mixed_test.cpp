// Mixed precision: solutions as accurate as those in f64, and members for which that cannot be, named.
#include <trifold/trifold.hpp>

#include "tests/runtime/tridiagonal/fixture.hpp"
#include "tests/support/test.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

Spec mixed(Spec spec) {
    spec.precision = Precision::mixed;
    return spec;
}

/// Values that f32 does not hold.
void scale(Problem<double>& problem, double factor) {
    for (auto& system : problem.systems) {
        for (auto* blocks : {&system.d, &system.e})
            for (auto& block : *blocks) block *= factor;
    }
    problem.input = arrays<double>(problem.spec, problem.systems);
}

/// [d e; e d], n = 1 and N = 2.
System two_blocks(double d, double e) {
    const Matrix diagonal = Matrix::Constant(1, 1, d), coupling = Matrix::Constant(1, 1, e);
    Matrix b(2, 1);
    b << 1, -0.75;
    return {{diagonal, diagonal}, {coupling}, b};
}

/// Condition 8e8. Rounded to f32 its smallest eigenvalue is fifty times as large, so that corrections take a fiftieth of the error.
System ill_conditioned() { return two_blocks(1 + 0.51 * 0x1p-23, 1 + 0.49 * 0x1p-23); }

void replace(Problem<double>& problem, std::size_t member, System system) {
    problem.systems[member] = std::move(system);
    problem.input = arrays<double>(problem.spec, problem.systems);
}

/// The relative residual of one member.
double residual_of(const Problem<double>& problem, std::size_t member) {
    const auto& system = problem.systems[member];
    return relative_residual(system.dense(), gather(problem.spec, problem.x, static_cast<std::int64_t>(member), problem.columns), system.b);
}

bool all_nan(const Problem<double>& problem, std::size_t member) {
    return gather(problem.spec, problem.x, static_cast<std::int64_t>(member), problem.columns).array().isNaN().all();
}

void check_solves(const Spec& spec, const Tuning& given, std::int64_t columns) {
    INFO(spec.block, " ", spec.horizon, " ", spec.batch, " ", given.schedule, " ", given.variant, " ", columns);
    Problem<double> problem(spec, columns, 17);
    scale(problem, 1.1);
    const auto& [d, e, b] = problem.input;
    auto& x = problem.x;
    Solver solver(Plan(spec, Device::cpu(), given));
    const auto expect_solution = [&] {
        CHECK(problem.residual() < 1e-14);
        CHECK_NOTHROW(solver.check());
        for (const auto& member : solver.refinement()) {
            CHECK((member.converged && member.iterations >= 1 && member.iterations <= 4));
            CHECK(member.backward_error < 1e-14);
        }
        x.assign(x.size(), std::nan(""));
    };
    solver.factor_solve<double>(d, e, b, x, {.columns = columns});
    expect_solution();
    solver.factor<double>(d, e);
    CHECK(solver.refinement().empty());
    solver.solve<double>(b, x, {.columns = columns});
    expect_solution();
    x = b;
    solver.solve(x.data(), x.data(), {}, {.columns = columns});
    expect_solution();
}

}  // namespace

TEST_CASE("mixed precision solves as accurately as f64, by every schedule") {
    for (const auto* schedule :
         {"sequential", "single-stage", "multi-stage", "partitioned:3", "twisted:2", "twisted:4", "recursive:2:3", "segments:3,2"})
        check_solves(mixed({.block = 5, .horizon = 13, .rhs = 3, .batch = 2}), tuning(schedule), 3);
}

TEST_CASE("mixed precision solves blocks, horizons and layouts of every kind, in lanes, by columns and workers") {
    int k = 0;
    for (const std::int64_t n : {1, 2, 7, 16, 33, 65}) {
        check_solves(mixed({.block = n, .horizon = 6, .rhs = k % 2 == 0 ? 1 : 8}), tuning(k % 3 == 0 ? "multi-stage" : "twisted:2"), 1);
        ++k;
    }
    for (const std::int64_t horizon : {1, 2, 3, 40}) check_solves(mixed({.block = 4, .horizon = horizon}), tuning("auto"), 1);
    check_solves(mixed({.block = 6, .horizon = 9, .rhs = 3, .batch = 19}), {.schedule = "sequential", .variant = "lanes", .workers = 2}, 7);
    check_solves(mixed({.block = 3, .horizon = 80, .batch = 2}), {.schedule = "auto", .variant = "intervals", .workers = 2}, 1);
    Spec laid_out{.block = 5, .horizon = 7, .rhs = 3, .batch = 3, .order = Order::column_major, .coupling = Coupling::upper};
    laid_out.rhs_layout = RhsLayout::stacked;
    laid_out.d = {.leading = 7, .stage = 40, .member = 300};
    laid_out.e = {.leading = 6};
    check_solves(mixed(laid_out), tuning("twisted:3"), 3);
}

TEST_CASE("members that do not converge are named, and the others solved") {
    Problem<double> problem(mixed({.block = 1, .horizon = 2, .batch = 4}), 1, 4);
    replace(problem, 1, ill_conditioned());
    replace(problem, 2, two_blocks(1 + 3e-6, 1));  // condition 7e5: some corrections more
    Solver solver(Plan(problem.spec, Device::cpu()));
    solver.factor_solve<double>(problem.input.d, problem.input.e, problem.input.b, problem.x);
    CHECK(all_nan(problem, 1));
    for (const std::size_t member : {0, 2, 3}) CHECK(residual_of(problem, member) < 1e-14);
    const auto refinement = solver.refinement();
    REQUIRE(refinement.size() == 4);
    CHECK((refinement[0].converged && refinement[1].converged == 0 && refinement[2].converged));
    CHECK(refinement[2].iterations > refinement[0].iterations);
    CHECK(refinement[1].backward_error > 1e-14);
    try {
        solver.check();
        FAIL("check() must throw");
    } catch (const NotConverged& error) {
        REQUIRE(error.failures.size() == 1);
        CHECK(error.failures[0].member == 1);
        CHECK(says(std::string(error.what()), "member 1, backward error"));
        CHECK(says(std::string(error.what()), "precision f64"));
    }
    auto spec = problem.spec;
    spec.precision = Precision::f64;
    Solver in_f64(Plan(spec, Device::cpu()));
    in_f64.factor_solve<double>(problem.input.d, problem.input.e, problem.input.b, problem.x);
    CHECK(problem.residual() < 1e-14);
}

TEST_CASE("what f32 cannot hold fails by name: a matrix, right-hand sides too large and too small") {
    Problem<double> problem(mixed({.block = 3, .horizon = 4, .batch = 4}), 1, 4);
    for (const auto& [member, factor] : {std::pair{0, 1e200}, std::pair{1, 1e-200}})
        for (auto* blocks : {&problem.systems[static_cast<std::size_t>(member)].d, &problem.systems[static_cast<std::size_t>(member)].e})
            for (auto& block : *blocks) block *= factor;
    problem.systems[2].b *= 1e100;
    problem.systems[3].b *= 1e-100;
    problem.input = arrays<double>(problem.spec, problem.systems);
    Solver solver(Plan(problem.spec, Device::cpu()));
    solver.factor_solve<double>(problem.input.d, problem.input.e, problem.input.b, problem.x);
    for (const std::size_t member : {0, 1, 2, 3}) {
        CHECK(all_nan(problem, member));
        CHECK(solver.refinement().at(member).converged == 0);
    }
    const auto status = solver.status();
    CHECK((status[0].block >= 0 && status[1].block >= 0 && status[2].block == -1 && status[3].block == -1));
    CHECK_THROWS_AS(solver.check(), NotPositiveDefinite);
}

TEST_CASE("a right-hand side of zeros has the solution zero, at once") {
    Problem<double> problem(mixed({.block = 3, .horizon = 4}), 1, 4);
    problem.input.b.assign(problem.input.b.size(), 0);
    problem.x.assign(problem.x.size(), 1);
    Solver solver(Plan(problem.spec, Device::cpu()));
    solver.factor_solve<double>(problem.input.d, problem.input.e, problem.input.b, problem.x);
    for (const auto value : problem.x) CHECK(value == 0);
    CHECK(solver.refinement().at(0).iterations == 0);
    CHECK(solver.refinement().at(0).converged);
}

TEST_CASE("one column that does not converge is not hidden by a later panel") {
    Problem<double> problem(mixed({.block = 3, .horizon = 4}), 3, 4);
    for (std::size_t k = 1; k < problem.input.b.size(); k += 3) problem.input.b[k] *= 1e-100;
    Solver solver(Plan(problem.spec, Device::cpu()));
    solver.factor_solve<double>(problem.input.d, problem.input.e, problem.input.b, problem.x, {.columns = 3});
    for (std::size_t k = 0; k < problem.x.size(); ++k) CHECK(std::isnan(problem.x[k]) == (k % 3 == 1));
    CHECK(solver.refinement().at(0).converged == 0);
    CHECK_THROWS_AS(solver.check(), NotConverged);
}

TEST_CASE("a later solve has the matrix as it was factored, shifted, whatever the caller's arrays hold") {
    Problem<double> problem(mixed({.block = 4, .horizon = 6, .batch = 2}), 1, 4);
    scale(problem, 1.1);
    Solver solver(Plan(problem.spec, Device::cpu(), tuning("twisted:2")));
    const std::vector<double> shift{0.3, 1.7}, diagonal(48, 0.1);
    solver.factor<double>(problem.input.d, problem.input.e, {.diagonal = diagonal.data(), .shift = shift.data()});
    for (std::size_t m = 0; m < 2; ++m)
        for (auto& block : problem.systems[m].d) block.diagonal().array() += shift[m] + 0.1;
    problem.input.d.assign(problem.input.d.size(), std::nan(""));
    problem.input.e.assign(problem.input.e.size(), std::nan(""));
    solver.solve<double>(problem.input.b, problem.x);
    CHECK(problem.residual() < 1e-14);
    CHECK_NOTHROW(solver.check());
}

TEST_CASE("mixed precision leaves masked members alone") {
    Problem<double> problem(mixed({.block = 4, .horizon = 6, .batch = 3}), 1, 8);
    Solver solver(Plan(problem.spec, Device::cpu(), tuning("twisted:2")));
    const int active[] = {1, 0, 1};
    problem.x.assign(problem.x.size(), 42);
    solver.factor_solve<double>(problem.input.d, problem.input.e, problem.input.b, problem.x, {.active = active});
    CHECK((residual_of(problem, 0) < 1e-14 && residual_of(problem, 2) < 1e-14));
    CHECK((gather(problem.spec, problem.x, 1, 1).array() == 42).all());
    CHECK(solver.refinement().at(1).iterations == -1);
    CHECK_NOTHROW(solver.check());
    solver.solve<double>(problem.input.b, problem.x);  // the second was never factored
    CHECK(all_nan(problem, 1));
    CHECK_NOTHROW(solver.check());
}

TEST_CASE("mixed precision says what it does not have") {
    const auto spec = mixed({.block = 3, .horizon = 4});
    Problem<double> problem(spec, 1, 8);
    auto with_inverse = spec;
    with_inverse.operations = all_operations();
    CHECK_THROWS_AS(Plan(with_inverse, Device::cpu()), SpecError);
    with_inverse.operations = {Operation::factor_forward, Operation::backward};
    CHECK_THROWS_AS(Plan(with_inverse, Device::cpu()), SpecError);
    Solver solver(Plan(spec, Device::cpu()));
    std::vector<float> single(problem.x.size());
    CHECK_THROWS_AS(solver.factor<float>(single, single), SpecError);
    solver.factor_solve<double>(problem.input.d, problem.input.e, problem.input.b, problem.x);
    CHECK_THROWS_AS(solver.forward<double>(problem.input.b, problem.x), SpecError);
    CHECK_THROWS_AS(solver.quadratic(), SpecError);
    const auto expected = 2 * Eigen::LLT<Matrix>(problem.systems[0].dense()).matrixLLT().diagonal().array().log().sum();
    CHECK(solver.log_determinant().at(0) == doctest::Approx(expected).epsilon(1e-6));
    auto plain = spec;
    plain.precision = Precision::f64;
    Solver in_f64(Plan(plain, Device::cpu()));
    CHECK_THROWS_AS(in_f64.refinement(), SpecError);
}
