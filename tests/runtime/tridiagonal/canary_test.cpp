// Guard zones of calls that the conformance of all families leaves out: values of Factors, copies of outcomes, and C's own functions.
#include <trifold/trifold.h>

#include <trifold/trifold.hpp>

#include "tests/runtime/tridiagonal/fixture.hpp"
#include "tests/support/guarded.hpp"
#include "tests/support/test.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

constexpr std::int64_t members = 5, most_columns = 5;

/// A problem whose arrays stand between guard zones.
struct GuardedProblem {
    explicit GuardedProblem(const Spec& spec)
        : problem(spec, most_columns, 1), d(problem.input.d), e(problem.input.e), b(problem.input.b), x(b.size()) {}
    bool intact() const { return d.intact() && e.intact() && b.intact() && x.intact(); }
    void check_solution() {
        std::ranges::copy(x.values(), problem.x.begin());
        CHECK(problem.residual() < 1e-13);
        std::ranges::fill(x.values(), 0.0);
    }
    Problem<double> problem;
    Guarded<double> d, e, b, x;
};

Spec canary_spec() { return {.block = 3, .horizon = 7, .rhs = 2, .batch = members, .operations = all_operations()}; }

/// Room for one entry too few is refused, and no room at all asks for the number.
template <class T>
void check_copies(trifold_code (*copy)(trifold_solver*, T*, std::int64_t, std::int64_t*), trifold_solver* solver, std::int64_t expected) {
    Guarded<T> values(expected);
    std::int64_t count = -1;
    CHECK(copy(solver, nullptr, 0, &count) == TRIFOLD_OK);
    CHECK(count == expected);
    for (const auto capacity : {expected - 1, std::int64_t{-1}, std::int64_t{0}})
        CHECK(copy(solver, values.data(), capacity, nullptr) == TRIFOLD_BAD_ARGUMENT);
    CHECK(copy(solver, values.data(), expected, &count) == TRIFOLD_OK);
    CHECK(values.intact());
}

}  // namespace

TEST_CASE("canaries: factors as values, and copies of what comes with a factorization") {
    GuardedProblem in(canary_spec());
    Factors factors(Plan(in.problem.spec, Device::cpu(), tuning("recursive:2", 2)));
    Guarded<char> value(factors.bytes());
    const auto solver = factors.fresh(value.data());
    solver->factor_solve(in.d.data(), in.e.data(), in.b.data(), in.x.data(), {}, {.columns = most_columns});
    in.check_solution();
    solver->solve(in.b.data(), in.x.data(), {}, {.columns = 2});
    Guarded<double> log_determinants(members), quadratics(members * 2);
    solver->copy_log_determinant(log_determinants.data(), members);
    solver->copy_quadratic(quadratics.data(), members);
    for (const auto* array : {&log_determinants, &quadratics}) CHECK(array->intact());
    CHECK((in.intact() && value.intact()));
}

TEST_CASE("canaries: C's function for every operation of chains, on memory of the device and of the host") {
    GuardedProblem in(canary_spec());
    trifold_spec spec;
    trifold_spec_init(&spec, 3, 7);
    spec.rhs = 2;
    spec.batch = members;
    spec.operations = TRIFOLD_USUAL | TRIFOLD_INVERSE;
    trifold_plan* plan = nullptr;
    trifold_solver* solver = nullptr;
    REQUIRE(trifold_plan_create(&spec, "cpu", nullptr, &plan) == TRIFOLD_OK);
    Guarded<char> workspace(trifold_plan_workspace_bytes(plan));
    REQUIRE(trifold_solver_create(plan, workspace.data(), workspace.size(), &solver) == TRIFOLD_OK);
    trifold_options options;
    trifold_options_init(&options);
    options.columns = most_columns;
    Guarded<double> y(in.b.size()), diagonal(members * 7 * 9), coupling(members * 6 * 9);
    const auto run = [&](std::uint64_t operation, const std::array<const void*, 3>& from, const std::array<void*, 2>& to) {
        for (const int on_host : {0, 1}) {
            trifold_call call;
            trifold_call_init(&call);
            call.operation = operation, call.on_host = on_host, call.options = &options, call.precision = TRIFOLD_F64;
            std::ranges::copy(from, call.in);
            std::ranges::copy(to, call.out);
            CHECK(trifold_run(solver, &call) == TRIFOLD_OK);
        }
    };
    auto *const d = in.d.data(), *const e = in.e.data(), *const b = in.b.data(), *const x = in.x.data();
    run(TRIFOLD_FACTOR_SOLVE, {d, e, b}, {x});
    in.check_solution();
    run(TRIFOLD_FACTOR_FORWARD, {d, e, b}, {y.data()});
    run(TRIFOLD_FACTOR, {d, e}, {});
    run(TRIFOLD_FORWARD, {b}, {y.data()});
    run(TRIFOLD_BACKWARD, {y.data()}, {x});
    in.check_solution();
    run(TRIFOLD_INVERSE, {}, {diagonal.data(), coupling.data()});
    options.columns = 2;
    run(TRIFOLD_SOLVE, {b}, {x});
    check_copies<trifold_outcome>(trifold_outcomes, solver, members);
    check_copies<double>(trifold_log_determinant, solver, members);
    check_copies<double>(trifold_quadratic, solver, members * 2);
    for (const auto* array : {&y, &diagonal, &coupling}) CHECK(array->intact());
    CHECK((in.intact() && workspace.intact()));
    trifold_solver_destroy(solver);
    trifold_plan_destroy(plan);
}

TEST_CASE("a value holds no more members than its Plan") {
    Spec spec{.block = 3, .horizon = 4, .batch = 2};
    Factors factors(Plan(spec, Device::cpu()));
    Guarded<char> value(factors.bytes()), copy(factors.bytes());
    Problem<double> problem(spec, 1, 1);
    factors.fresh(value.data())->factor(problem.input.d.data(), problem.input.e.data());
    for (const std::int64_t members : {-1, 3, 1000}) {
        CHECK_REFUSED("members = ", factors.filled(value.data(), {}, members));
        CHECK_REFUSED("members = ", factors.copied(value.data(), copy.data(), {}, members));
    }
    CHECK_REFUSED("null pointer", factors.copied(nullptr, copy.data()));
    CHECK_REFUSED("overlap", factors.copied(value.data() + 64, value.data()));
    CHECK(factors.filled(value.data())->status().size() == 2);
    CHECK((value.intact() && copy.intact()));
}

TEST_CASE("options of C that no _init has set are refused before they are read") {
    trifold_spec spec;
    trifold_spec_init(&spec, 2, 2);
    trifold_plan* plan = nullptr;
    trifold_solver* solver = nullptr;
    REQUIRE(trifold_plan_create(&spec, "cpu", nullptr, &plan) == TRIFOLD_OK);
    REQUIRE(trifold_solver_create(plan, nullptr, 0, &solver) == TRIFOLD_OK);
    const std::vector<std::size_t> shorter{sizeof(std::size_t)};  // with nothing behind its size, as the address sanitizer sees
    const auto* options = reinterpret_cast<const trifold_options*>(shorter.data());
    const std::array<double, 8> d{2, 0, 0, 2, 2, 0, 0, 2};
    const std::array<double, 4> e{};
    CHECK(trifold_factor_host_f64(solver, d.data(), e.data(), options) == TRIFOLD_BAD_ARGUMENT);
    CHECK(says(std::string(trifold_last_error()), "trifold_options_init"));
    trifold_solver_destroy(solver);
    trifold_plan_destroy(plan);
}
