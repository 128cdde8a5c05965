// Steps of refinement on the CPU, against dense algebra in long double.
#include <trifold/ranks.hpp>
#include <trifold/trifold.hpp>

#include "tests/support/shapes.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

Operations with_refine(Operations operations = usual_operations()) {
    operations.insert(Operation::refine);
    return operations;
}

/// Blocks [c 1; 1 0], which have an eigenvalue near -1 and growth 1 / c, with couplings of their first rows.
template <class Real>
struct Saddle {
    Saddle(std::int64_t horizon, double c) {
        const auto rows = 2 * horizon;
        const auto pivot = static_cast<Real>(c);
        a = Eigen::MatrixXd::Zero(rows, rows);
        for (std::int64_t k = 0; k < horizon; ++k) {
            d.insert(d.end(), {pivot, Real(0), Real(1), Real(0)});
            a(2 * k, 2 * k) = pivot, a(2 * k + 1, 2 * k) = a(2 * k, 2 * k + 1) = 1;
            b.insert(b.end(), {Real(1), static_cast<Real>(0.5 + static_cast<double>(k))});
            if (k + 1 == horizon) break;
            e.insert(e.end(), {Real(0), Real(0), Real(0.25), Real(0)});
            a(2 * k + 3, 2 * k) = a(2 * k, 2 * k + 3) = 0.25;
        }
        exact = a.fullPivLu().solve(right());
        x.resize(b.size());
    }
    Eigen::VectorXd right() const { return Eigen::Map<const Eigen::Matrix<Real, -1, 1>>(b.data(), std::ssize(b)).template cast<double>(); }
    Eigen::VectorXd found() const { return Eigen::Map<const Eigen::Matrix<Real, -1, 1>>(x.data(), std::ssize(x)).template cast<double>(); }
    double error() const { return (found() - exact).cwiseAbs().maxCoeff() / exact.cwiseAbs().maxCoeff(); }
    std::vector<Real> d, e, b, x;
    Eigen::MatrixXd a;
    Eigen::VectorXd exact;
};

}  // namespace

TEST_CASE_TEMPLATE("a step of refinement with every variant, schedule and layout", Real, double, float) {
    const auto both = {MatrixKind::positive_definite, MatrixKind::symmetric};
    for (const auto& [variant, schedule, n] : {std::tuple{"tile", "sequential", 5},
                                               {"tile", "segments:4", 13},
                                               {"tile", "twisted:2", 8},
                                               {"lanes", "multi-stage", 2},
                                               {"lanes", "sequential", 1},
                                               {"lanes", "twisted:2", 5}})
        for (const auto matrix : both)
            check_shape<Real>({.block = n, .horizon = 17, .matrix = matrix, .rhs = n == 5 ? 70 : n % 3 + 1, .batch = n % 2 == 0 ? 1 : 9},
                              Device::cpu(), {.schedule = schedule, .variant = variant, .workers = n == 8 ? 3 : 1, .any_size = true}, 4);
    check_shape<Real>({.block = 3, .horizon = 33, .rhs = 2}, Device::cpu(), {.schedule = "segments:4", .variant = "intervals"}, 4);
    check_shape<Real>({.block = 3,
                       .horizon = 10,
                       .rhs = 2,
                       .batch = 4,
                       .order = Order::column_major,
                       .coupling = Coupling::upper,
                       .rhs_layout = RhsLayout::stacked,
                       .d = {.leading = 4}},
                      Device::cpu(), {}, 1 + 4);
    for (const std::int64_t horizon : {1, 2}) check_shape<Real>({.block = 4, .horizon = horizon, .rhs = 2}, Device::cpu(), {}, 4);
}

TEST_CASE_TEMPLATE("digits that growth has taken come back by refinement", Real, double, float) {
    const bool wide = sizeof(Real) == 8;
    Saddle<Real> saddle(9, wide ? 1e-7 : 1e-3);
    const Spec spec{.block = 2,
                    .horizon = 9,
                    .precision = wide ? Precision::f64 : Precision::f32,
                    .matrix = MatrixKind::symmetric,
                    .operations = with_refine()};
    Solver solver{Plan(spec, Device::cpu())};
    solver.factor_solve<Real>(saddle.d, saddle.e, saddle.b, saddle.x);
    const double epsilon = std::numeric_limits<Real>::epsilon(), before = saddle.error();
    CHECK(before > 20 * epsilon);
    CHECK(backward_error_oracle(saddle.a, saddle.found(), saddle.right()) > 20 * epsilon);
    for (int step = 0; step < 2; ++step) solver.refine<Real>(saddle.d, saddle.e, saddle.b, saddle.x);
    CHECK(saddle.error() <= 2 * epsilon);
    CHECK(saddle.error() < before / 20);
    CHECK(solver.refinement().front().converged);
    CHECK(solver.refinement().front().backward_error ==
          doctest::Approx(backward_error_oracle(saddle.a, saddle.found(), saddle.right())).epsilon(1e-2));
    solver.factor<Real>(saddle.d, saddle.e);
    CHECK(solver.refinement().empty());
}

TEST_CASE("refinement with a mask, shifts and a diagonal, and members that fail") {
    const Spec spec{.block = 3, .horizon = 7, .rhs = 2, .batch = 4, .operations = with_refine()};
    ShapedProblem<double> problem(spec, 3);
    problem.diagonal(2, 4)(1, 1) = -5;
    problem.store();
    const std::vector<double> shift{1, 2, 0, 4};
    std::vector<double> diagonal(4 * 7 * 3);
    for (std::size_t k = 0; k < diagonal.size(); ++k) diagonal[k] = k / 63 == 2 ? 0 : static_cast<double>(k % 5);
    const std::vector<int> active{1, 0, 1, 1};
    const FactorOptions<double> options{.diagonal = diagonal.data(), .shift = shift.data(), .active = active.data()};
    Solver solver{Plan(spec, Device::cpu())};
    solver.factor<double>(problem.d, problem.e, {.diagonal = diagonal.data(), .shift = shift.data()});
    std::ranges::fill(problem.x, 0.125);
    solver.refine<double>(problem.d, problem.e, problem.b, problem.x, options);
    solver.refine<double>(problem.d, problem.e, problem.b, problem.x, options);
    for (const std::int64_t member : {0, 3}) {
        auto a = problem.matrix(member);
        for (std::int64_t r = 0; r < 21; ++r)
            a(r, r) += shift[static_cast<std::size_t>(member)] + diagonal[static_cast<std::size_t>(member * 21 + r)];
        const double error = backward_error_oracle(a, problem.solution(member), problem.right(member));
        CHECK(error <= 1e-15);
        CHECK(std::abs(solver.refinement().at(static_cast<std::size_t>(member)).backward_error - error) <= 5e-16);
    }
    CHECK((problem.solution(1).array() == 0.125).all());
    CHECK(problem.solution(2).array().isNaN().all());
    CHECK((solver.refinement()[1].iterations == -1 && solver.refinement()[1].backward_error == 0));
    CHECK((std::isnan(solver.refinement()[2].backward_error) && !solver.refinement()[2].converged));
    CHECK(solver.status()[2].block == 4);

    const auto all = problem.x;  // fewer members and columns have the same bits
    std::ranges::fill(problem.x, 0.125);
    for (int step = 0; step < 2; ++step)
        solver.refine<double>(problem.d, problem.e, problem.b, problem.x,
                              {.diagonal = diagonal.data(), .shift = shift.data(), .members = 1});
    CHECK(std::equal(all.begin(), all.begin() + 42, problem.x.begin()));
    CHECK(std::all_of(problem.x.begin() + 42, problem.x.end(), [](double value) { return value == 0.125; }));
    CHECK(solver.refinement().size() == 1);
}

TEST_CASE("a solution that has left the range says so after refinement, and zero stays zero") {
    const Spec spec{.block = 1, .horizon = 2, .batch = 2, .operations = with_refine()};
    Solver solver{Plan(spec, Device::cpu())};
    const std::vector<double> d{1, 1, 1, 1}, e{0, 0}, b{INFINITY, 1, 0, 0};
    std::vector<double> x{1, 1, 0, 0};
    solver.factor<double>(d, e);
    solver.refine<double>(d, e, b, x);
    CHECK(!solver.status()[0].solution);
    CHECK(solver.status()[1].ok());
    CHECK((x[2] == 0 && x[3] == 0 && solver.refinement()[1].backward_error == 0));
}

TEST_CASE("factors move to a Plan that refines") {
    Spec spec{.block = 3, .horizon = 8, .batch = 2};
    ShapedProblem<double> problem(spec, 5);
    Solver plain{Plan(spec, Device::cpu())};
    problem.factor_solve(plain);
    CHECK_REFUSED("no operation refine", plain.refinement());
    CHECK_REFUSED("this Plan has no kernels for refine; add it to the Spec's operations",
                  plain.refine<double>(problem.d, problem.e, problem.b, problem.x));
    spec.operations.insert(Operation::refine);
    Solver refining{Plan(spec, Device::cpu(), {.schedule = plain.plan().choice().schedule.name, .variant = plain.plan().choice().variant})};
    CHECK_REFUSED("needs a factorization", refining.refine<double>(problem.d, problem.e, problem.b, problem.x));
    refining.take_factor(plain);
    refining.refine<double>(problem.d, problem.e, problem.b, problem.x);
    for (const std::int64_t member : {0, 1})
        CHECK(backward_error_oracle(problem.matrix(member), problem.solution(member), problem.right(member)) <= 1e-15);
    CHECK_REFUSED("differs in more than rhs and refine", plain.take_factor(refining));
    CHECK_REFUSED("quadratic needs a forward sweep", refining.quadratic());
    CHECK_REFUSED("overlaps B", refining.refine<double>(problem.d, problem.e, problem.x, problem.x));
}

TEST_CASE("refinement refuses what it does not have") {
    const auto operations = with_refine();
    CHECK_REFUSED("mixed precision refines every solution by itself",
                  Plan({.block = 2, .horizon = 3, .precision = Precision::mixed, .operations = operations}, Device::cpu()));
    CHECK_REFUSED("refinement with a border is not there yet",
                  Plan({.block = 2, .horizon = 3, .border = 1, .operations = operations}, Device::cpu()));
    const RankSpec rank{.spec = {.block = 8, .horizon = 9, .operations = operations}, .shards = {4, 5}, .rank = 1};
    CHECK_REFUSED("refine of ranks is there with every solve", choose(rank, Target{Backend::cpu, "x86-64-v3"}, {}));
    CHECK(!all_operations().contains(Operation::refine));
    CHECK(parse_operations("factor,refine") == Operations{Operation::factor, Operation::refine});
}
