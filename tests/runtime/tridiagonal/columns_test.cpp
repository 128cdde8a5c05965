// Many right-hand sides: panels of them, calls for more than the kernels take at once, threads that share them.
#include <trifold/trifold.hpp>

#include "tests/runtime/tridiagonal/fixture.hpp"
#include "tests/support/test.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

constexpr double tolerance = 1e-13;

/// The columns from `first` on, as a problem of its own.
template <class Real>
Problem<Real> part_of(const Problem<Real>& whole, std::int64_t first, std::int64_t count) {
    auto part = whole;
    part.columns = count;
    for (auto& system : part.systems) system.b = Matrix(system.b.middleCols(first, count));
    part.input = arrays<Real>(part.spec, part.systems);
    part.x.assign(part.input.b.size(), Real(0));
    return part;
}

template <class Real>
void solve(Solver& solver, Problem<Real>& problem) {
    SweepOptions sweep;
    sweep.columns = problem.columns;
    solver.solve<Real>(problem.input.b, problem.x, sweep);
}

}  // namespace

TEST_CASE("columns: a thousand, on one thread and on several, from operations that say factor_solve alone") {
    for (const int workers : {1, 3})
        for (const std::string variant : {"tile", "lanes", "intervals"}) {
            INFO(workers, " ", variant);
            Spec spec{.block = 5, .horizon = 9, .rhs = 1000, .batch = 2};
            spec.operations = {Operation::factor_solve};
            Problem<double> problem(spec, 1000, 5);
            const auto& [d, e, b] = problem.input;
            Solver solver(Plan(spec, Device::cpu(),
                               {.schedule = variant == "intervals" ? "auto" : "twisted:2", .variant = variant, .workers = workers}));
            solver.factor_solve<double>(d, e, b, problem.x);
            CHECK(problem.residual() < tolerance);
            CHECK(solver.ok());
            const auto quadratic = solver.quadratic();
            CHECK(quadratic.size() == 2000);
            for (std::int64_t m = 0; m < 2; ++m) {
                const auto& system = problem.systems[static_cast<std::size_t>(m)];
                const Matrix x = gather(spec, problem.x, m, 1000);
                for (const std::int64_t c : {0, 63, 64, 500, 999})
                    CHECK(quadratic[static_cast<std::size_t>(m * 1000 + c)] ==
                          doctest::Approx(system.b.col(c).dot(x.col(c))).epsilon(tolerance));
            }
        }
}

TEST_CASE("columns: a column depends on no other one, nor on their number") {
    for (const auto layout : {RhsLayout::staged, RhsLayout::stacked})
        for (const std::string variant : {"tile", "lanes", "intervals"}) {
            CAPTURE(variant);
            const Spec spec{.block = 6, .horizon = 11, .rhs = 33, .batch = 3, .rhs_layout = layout};
            Problem<double> problem(spec, 131, 5);
            Solver solver(Plan(spec, Device::cpu(), {.schedule = variant == "intervals" ? "auto" : "partitioned:3", .variant = variant}));
            solver.factor<double>(problem.input.d, problem.input.e);
            solve(solver, problem);
            CHECK(problem.residual() < tolerance);
            for (const auto& [first, count] : {std::pair{0, 5}, {7, 15}, {50, 65}, {130, 1}, {100, 31}}) {
                CAPTURE(count);
                auto part = part_of(problem, first, count);
                solve(solver, part);
                CHECK(part.residual() < tolerance);
                if (count < 5) continue;  // few have kernels of their own
                for (std::int64_t m = 0; m < spec.batch; ++m)
                    CHECK(gather(spec, part.x, m, count) == Matrix(gather(spec, problem.x, m, 131).middleCols(first, count)));
            }
        }
}

TEST_CASE("columns: mixed precision, and quadratics of a part") {
    const Spec mixed{.block = 7, .horizon = 9, .precision = Precision::mixed, .rhs = 70, .batch = 2};
    Problem<double> problem(mixed, 150, 5);
    Solver refined(Plan(mixed, Device::cpu(), tuning("twisted:2")));
    refined.factor<double>(problem.input.d, problem.input.e);
    solve(refined, problem);
    CHECK(problem.residual() < tolerance);
    CHECK(refined.ok());

    const Spec spec{.block = 7, .horizon = 9, .rhs = 16, .batch = 2};
    Problem<double> few(spec, 5, 5);
    Solver solver(Plan(spec, Device::cpu(), tuning("twisted:2")));
    solver.factor<double>(few.input.d, few.input.e);
    solve(solver, few);
    std::vector<double> copied(10);
    solver.copy_quadratic(copied.data(), 2, {}, 5);
    CHECK(copied == solver.quadratic());
    CHECK_REFUSED("rhs = 16", solver.copy_quadratic(copied.data(), 2, {}, 17));
}

TEST_CASE("columns: one that leaves the range is said, wherever it stands, and members that are left out keep theirs") {
    const Spec spec{.block = 4, .horizon = 7, .rhs = 150, .batch = 2};
    Problem<double> problem(spec, 150, 5);
    const auto& [d, e, good] = problem.input;
    for (const int workers : {1, 3}) {
        Solver solver(Plan(spec, Device::cpu(), tuning("twisted:2", workers)));
        solver.factor<double>(d, e);
        for (const std::size_t column : {0, 63, 64, 149}) {
            auto b = good;
            b[column] = std::numeric_limits<double>::infinity();
            solver.solve<double>(b, problem.x);
            CHECK_FALSE(solver.status()[0].solution);
            CHECK(solver.status()[1].ok());
            solver.solve<double>(good, problem.x);
            CHECK(solver.ok());
        }
        const std::vector<int> active{0, 1};
        problem.x.assign(problem.x.size(), -7);
        solver.solve<double>(good, problem.x, {150, active.data()});
        CHECK((gather(spec, problem.x, 0, 150).array() == -7).all());
        CHECK((gather(spec, problem.x, 1, 150).array() != -7).all());
    }
}

TEST_CASE("columns: a factor that was made for one right-hand side serves many as fast as one made for them") {
    for (const auto* schedule : {"sequential", "recursive:2"})
        for (const auto* variant : {"tile", "lanes"})
            for (const std::int64_t n : {3, 9}) {
                INFO(schedule, " ", variant, " ", n);
                const Spec spec{.block = n, .horizon = 11, .batch = 5};
                const Tuning tuning{.schedule = schedule, .variant = variant};
                Problem<double> problem(spec, 20, 5);
                const auto& [d, e, b] = problem.input;
                const Plan plan(spec, Device::cpu(), tuning), wide = plan.widened(20);
                auto many = spec;
                many.rhs = wide.choice().spec.rhs;
                CHECK(many.rhs >= 20);
                CHECK(wide.program().name == Plan(many, Device::cpu(), tuning).program().name);
                Solver one(plan), taker(wide), made_for_many(Plan(many, Device::cpu(), tuning));
                one.factor<double>(d, e);
                taker.take_factor(one);
                CHECK(taker.log_determinant() == one.log_determinant());
                CHECK(taker.status() == one.status());
                solve(taker, problem);
                CHECK(problem.residual() < tolerance);
                CHECK(taker.ok());
                const auto x = problem.x;
                made_for_many.factor<double>(d, e);
                solve(made_for_many, problem);
                CHECK(problem.x == x);
                CHECK(made_for_many.quadratic() == taker.quadratic());
            }
}

TEST_CASE("columns: what gains nothing is not widened, and factors of another layout are refused") {
    const Plan plan({.block = 5, .horizon = 7}, Device::cpu());
    CHECK(plan.widened(3).choice().spec.rhs == 1);
    CHECK(plan.widened(64).widened(8).choice().spec.rhs == 64);
    CHECK(Plan({.block = 5, .horizon = 7, .precision = Precision::mixed}, Device::cpu()).widened(64).choice().spec.rhs == 1);
    CHECK_THROWS_WITH_AS(plan.widened(0), "columns = 0 is out of range; give 1 or more", SpecError);
    Solver taker(plan.widened(8)), other(plan), longer(Plan({.block = 5, .horizon = 8}, Device::cpu()));
    CHECK_THROWS_WITH_AS(taker.take_factor(other), "take_factor needs a factorization; call factor, factor_forward or factor_solve first",
                         SpecError);
    CHECK_THROWS_WITH_AS(
        taker.take_factor(longer),
        "the other Solver's Plan differs in more than rhs and refine, so its factor has another layout; make this one's by Plan::widened",
        SpecError);
}
