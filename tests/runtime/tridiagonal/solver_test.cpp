#include <stdlib.h>
#include <unistd.h>

#include <trifold/trifold.hpp>

#include "runtime/base/files.hpp"
#include "tests/runtime/tridiagonal/fixture.hpp"
#include "tests/runtime/tridiagonal/solver_runner.hpp"
#include "tests/support/cpu/checks.hpp"
#include "tests/support/test.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

void check_all(Spec spec, const Tuning& given, std::int64_t columns = 0) {
    INFO(spec.block, " ", spec.horizon, " ", given.schedule, " ", columns);
    spec.operations = all_operations();
    SolverRunner runner(Plan(spec, Device::cpu(), given));
    check_errors(errors_of(runner, {.seed = 11, .columns = columns}));
    if (columns == 0) check_errors(option_errors_of(runner));
}

template <class Real>
std::vector<Real> solution_of(const Spec& spec, const Tuning& tuning, const Arrays<Real>& user) {
    std::vector<Real> x(user.b.size());
    Solver solver(Plan(spec, Device::cpu(), tuning));
    solver.factor_solve(std::span<const Real>(user.d), std::span<const Real>(user.e), std::span<const Real>(user.b), std::span<Real>(x));
    CHECK(solver.ok());
    return x;
}

template <class Real>
void check_bits(Spec spec, const std::string& variant, const std::string& schedule) {
    spec.precision = sizeof(Real) == 8 ? Precision::f64 : Precision::f32;
    INFO(spec.block, " ", variant);
    std::vector<System> systems;
    for (std::int64_t m = 0; m < spec.batch; ++m)
        systems.push_back(random_system(spec.block, spec.horizon, spec.rhs, 3 + static_cast<unsigned>(m)));
    const auto user = arrays<Real>(spec, systems);
    const auto open = solution_of(spec, {.schedule = schedule, .variant = variant + ":bake=0"}, user);
    CHECK(open == solution_of(spec, {.schedule = schedule, .variant = variant + ":bake=1"}, user));
    CHECK(open == solution_of(spec, {.schedule = schedule, .variant = variant, .any_size = true}, user));
    // One member alone, in a batch of another size.
    auto alone = spec;
    alone.batch = 1;
    const auto first = solution_of(alone, {.schedule = schedule, .variant = variant}, arrays<Real>(alone, {systems.front()}));
    CHECK(std::equal(first.begin(), first.end(), open.begin()));
}

/// Binaries that this process and its cache on disk do not have.
struct EmptyCache {
    EmptyCache() { ::setenv("TRIFOLD_CACHE_DIR", directory.path().c_str(), 1); }
    ~EmptyCache() { ::setenv("TRIFOLD_CACHE_DIR", TEST_CACHE, 1); }
    EmptyCache(const EmptyCache&) = delete;
    EmptyCache& operator=(const EmptyCache&) = delete;
    PrivateDirectory directory;
};

std::int64_t resident_bytes() {
    std::ifstream numbers("/proc/self/statm");
    std::int64_t all = 0, resident = 0;
    numbers >> all >> resident;
    return resident * ::sysconf(_SC_PAGESIZE);
}

}  // namespace

TEST_CASE("every operation through a Solver agrees with dense algebra, with all that its options ask for") {
    for (const auto* schedule : {"sequential", "twisted:2", "multi-stage", "recursive:3:4"}) {
        check_all({.block = 7, .horizon = 17, .rhs = 3, .batch = 5}, tuning(schedule));
        check_all({.block = 4, .horizon = 9, .precision = Precision::f32, .rhs = 1, .batch = 2}, tuning(schedule));
    }
    check_all({.block = 33, .horizon = 5}, tuning("auto"));
    check_all({.block = 3, .horizon = 1}, tuning("auto"));
    for (const auto layout : {RhsLayout::staged, RhsLayout::stacked})
        for (const std::int64_t columns : {1, 3, 4, 7})  // more than the Plan's go in panels
            check_all({.block = 5, .horizon = 12, .rhs = 3, .batch = 2, .rhs_layout = layout}, tuning("twisted:3"), columns);
}

TEST_CASE("every operation through a Solver works over the whole range of exponents") {
    for (const auto precision : {Precision::f64, Precision::f32}) {
        SolverRunner runner(Plan(with_units({.block = 7, .horizon = 7, .precision = precision, .rhs = 2}, 4), Device::cpu()));
        check_errors(range_errors_of(runner, 4, false));
    }
}

TEST_CASE("one block alone has no coupling: E may be empty") {
    Problem<double> problem({.block = 1, .horizon = 1}, 1, 3);
    Solver solver(Plan(problem.spec, Device::cpu()));
    solver.factor_solve<double>(problem.input.d.data(), nullptr, problem.input.b.data(), problem.x.data());
    CHECK(problem.residual() < 1e-15);
}

TEST_CASE("blocks of more than a thousand rows") {
    Problem<float> problem({.block = 1037, .horizon = 2, .precision = Precision::f32}, 1, 3);
    Solver solver(Plan(problem.spec, Device::cpu()));
    solver.factor_solve<float>(problem.input.d, problem.input.e, problem.input.b, problem.x);
    CHECK(problem.residual() < 1e-6);
}

template <class... Arrays>
concept solves = requires(Solver solver, Arrays&&... arrays) { solver.solve(std::forward<Arrays>(arrays)...); };
using Doubles = std::vector<double>;
static_assert(solves<const Doubles&, std::array<double, 6>&> && solves<Doubles, std::span<double>> &&
              solves<std::span<const double>, std::span<double>>);
static_assert(solves<const double (&)[6], double (&)[6]> && solves<std::span<float>, std::vector<float>&>);
static_assert(!solves<Doubles&, Doubles> && !solves<Doubles&, const Doubles&> && !solves<Doubles&, std::span<const double>>);
static_assert(!solves<Doubles&, std::vector<float>&> && !solves<std::vector<int>&, std::vector<int>&>);

TEST_CASE("vectors, arrays and spans need no type named, in every call") {
    Problem<double> problem({.block = 2, .horizon = 3, .operations = all_operations()}, 1, 4);
    const auto& d = problem.input.d;
    const std::span<const double> e = problem.input.e;
    std::array<double, 6> b{}, y{};
    std::copy(problem.input.b.begin(), problem.input.b.end(), b.begin());
    Solver solver(Plan(problem.spec, Device::cpu()));
    const auto expect_solution = [&] {
        CHECK(problem.residual() < 1e-14);
        problem.x.assign(6, 0);
    };
    solver.factor_solve(d, e, b, problem.x, {.members = 1});
    expect_solution();
    solver.factor(d, e);
    solver.solve(std::as_const(b), std::span(problem.x));
    expect_solution();
    solver.forward(b, y);
    solver.backward(y, problem.x);
    expect_solution();
    solver.factor_forward(d, e, b, y);
    solver.backward(y, problem.x, {.members = 1});
    expect_solution();
    Doubles diagonal(12);
    std::array<double, 8> coupling{};
    solver.selected_inverse(diagonal, coupling);
    const Matrix inverse = problem.systems[0].dense().inverse();
    CHECK(diagonal[2 * 4 + 3] == doctest::Approx(inverse(5, 5)).epsilon(1e-13));
    CHECK(coupling[1 * 4 + 1] == doctest::Approx(inverse(4, 3)).epsilon(1e-13));
    CHECK_THROWS_AS(solver.solve(Doubles(5), y), SpecError);
}

TEST_CASE("quadratics of more columns than the Plan's are not there, and members that were never factored are not solved") {
    const Spec spec{.block = 4, .horizon = 6, .rhs = 3, .batch = 5};
    Problem<double> problem(spec, 4, 5);
    const auto& [d, e, b] = problem.input;
    Solver solver(Plan(spec, Device::cpu()));
    solver.factor<double>(d, e, {.members = 3});
    CHECK(solver.status().size() == 3);
    CHECK_THROWS_AS(solver.solve<double>(b, problem.x, {.columns = 4}), SpecError);
    CHECK_NOTHROW(solver.solve<double>(b, problem.x, {.columns = 4, .members = 2}));
    CHECK_THROWS_AS(solver.quadratic(), SpecError);
}

TEST_CASE("a member that the mask has kept from ever being factored solves to NaN and is not called failed") {
    Problem<double> problem({.block = 4, .horizon = 6, .batch = 2}, 1, 8);
    Solver solver(Plan(problem.spec, Device::cpu(), tuning("twisted:2")));
    const int active[] = {1, 0};
    FactorOptions<double> options;
    options.active = active;
    solver.factor<double>(problem.input.d, problem.input.e, options);
    CHECK(solver.status().at(1).floors == -1);
    CHECK_NOTHROW(solver.check());
    solver.solve<double>(problem.input.b, problem.x);
    const auto half = problem.x.size() / 2;
    for (std::size_t k = 0; k < half; ++k) CHECK(std::isfinite(problem.x[k]));
    for (std::size_t k = half; k < 2 * half; ++k) CHECK(std::isnan(problem.x[k]));
}

TEST_CASE("NotPositiveDefinite names every failed member, its block and row, the others are solved") {
    Problem<double> problem({.block = 4, .horizon = 9, .batch = 3}, 1, 8);
    auto& d = problem.input.d;
    const auto strides = diagonal_strides(problem.spec);
    const auto entry = [&](std::int64_t member, std::int64_t block, std::int64_t row) -> double& {
        return d[static_cast<std::size_t>(member * strides.member + block * strides.stage + row * (strides.row + strides.column))];
    };
    entry(1, 6, 2) = -1e3;
    entry(2, 0, 3) = std::nan("");
    Solver solver(Plan(problem.spec, Device::cpu(), tuning("sequential")));
    solver.factor_solve<double>(d, problem.input.e, problem.input.b, problem.x);
    try {
        solver.check();
        FAIL("check() must throw");
    } catch (const NotPositiveDefinite& error) {
        REQUIRE(error.failures.size() == 2);
        CHECK((error.failures[0].member == 1 && error.failures[0].block == 6 && error.failures[0].row == 2));
        CHECK((error.failures[1].member == 2 && error.failures[1].block == 0 && error.failures[1].row == 3));
        CHECK(says(std::string(error.what()), "member 1 at block 6, row 2"));
    }
    const auto determinants = solver.log_determinant();
    CHECK(std::isfinite(determinants[0]));
    CHECK((std::isnan(determinants[1]) && std::isnan(determinants[2])));
    CHECK(relative_residual(problem.systems[0].dense(), gather(problem.spec, problem.x, 0, 1), problem.systems[0].b) < 1e-14);
    for (std::size_t k = problem.x.size() / 3; k < problem.x.size(); ++k) CHECK(std::isnan(problem.x[k]));
}

TEST_CASE("a solution has the same bits with sizes as literals and without, and whatever the batch") {
    for (const auto* schedule : {"sequential", "twisted:2", "multi-stage"})
        for (const std::int64_t n : {1, 5, 12, 33}) {
            check_bits<double>({.block = n, .horizon = 17, .batch = 3}, "tile", schedule);
            check_bits<float>({.block = n, .horizon = 17, .batch = 3}, "tile", schedule);
            if (n < 13) check_bits<double>({.block = n, .horizon = 17, .batch = 9}, "lanes", schedule);
        }
    check_bits<double>({.block = 5, .horizon = 70, .batch = 2}, "intervals", "auto");
}

TEST_CASE("forty horizons of one block size are one compilation") {
    const EmptyCache cache;
    const auto before = process_report();
    for (std::int64_t horizon = 50; horizon < 90; ++horizon) {
        const Spec spec{.block = 19, .horizon = horizon, .operations = {Operation::factor_solve, Operation::solve}};
        Problem<double> problem(spec, 1, 4);
        Solver solver(Plan(spec, Device::cpu()));
        solver.factor_solve<double>(problem.input.d, problem.input.e, problem.input.b, problem.x);
        if (horizon % 13 == 0) CHECK(problem.residual() < 1e-14);
    }
    CHECK(process_report().compilations == before.compilations + 1);
    CHECK(process_report().plans == before.plans);
}

TEST_CASE("300 horizons take the memory of their arrays and little more") {
    const auto factor = [](std::int64_t horizon) {
        const Spec spec{.block = 12, .horizon = horizon};
        const auto factors = Factors::shared(spec, Device::cpu());
        return factors->bytes();
    };
    factor(50);
    const auto resident = resident_bytes();
    for (std::int64_t horizon = 51; horizon <= 350; ++horizon) CHECK(factor(horizon) > 0);
    CHECK(process_report().plans <= 300);
#ifdef __SANITIZE_ADDRESS__
    static_cast<void>(resident);  // this sanitizer keeps what was freed, to find uses of it
#else
    CHECK(resident_bytes() - resident < std::int64_t{20} << 20);
#endif
}
