#include <trifold/trifold.h>

#include <trifold/trifold.hpp>

#include "tests/runtime/tridiagonal/fixture.hpp"
#include "tests/support/guarded.hpp"
#include "tests/support/test.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

struct Case {
    Spec spec;
    const char* schedule = "auto";
    int workers = 1;
};

std::vector<Case> cases(Precision precision) {
    std::vector<Case> all{{{.block = 3, .horizon = 7, .rhs = 2, .batch = 5}},
                          {{.block = 3, .horizon = 7, .rhs = 2, .batch = 5}, "recursive:2", 2},
                          {{.block = 17, .horizon = 5, .batch = 2}},
                          {{.block = 5, .horizon = 1, .rhs = 3, .batch = 2}}};
    if (precision != Precision::f64) all.erase(all.begin() + 1, all.end());
    Spec laid_out{.block = 4, .horizon = 3, .rhs = 2, .batch = 3};
    laid_out.order = Order::column_major;
    laid_out.coupling = Coupling::upper;
    laid_out.rhs_layout = RhsLayout::stacked;
    laid_out.d = {.leading = 5, .stage = 23, .member = 80};
    laid_out.e = {.leading = 6};
    all.push_back({laid_out});
    for (auto& one : all) {
        one.spec.precision = precision;
        if (precision != Precision::mixed) one.spec.operations = all_operations();
    }
    return all;
}

/// Arrays of some members, between guard zones.
template <class Real>
struct Inputs {
    Inputs(const Spec& given, std::int64_t count, std::int64_t width) : spec(given), members(count), columns(width) {
        for (std::int64_t m = 0; m < members; ++m)
            systems.push_back(random_system(spec.block, spec.horizon, columns, static_cast<unsigned>(m)));
        const auto all = arrays<Real>(spec, systems);
        d = Guarded<Real>(all.d);
        e = Guarded<Real>(all.e);
        b = Guarded<Real>(all.b);
    }
    bool intact() const { return d.intact() && e.intact() && b.intact(); }
    /// Of the last member.
    double residual(Guarded<Real>& x) const {
        const std::vector<Real> values(x.values().begin(), x.values().end());
        const auto& system = systems.back();
        return relative_residual(system.dense(), gather(spec, values, members - 1, columns), system.b);
    }
    Spec spec;
    std::int64_t members, columns;
    std::vector<System> systems;
    Guarded<Real> d{0}, e{0}, b{0};
};

template <class Real>
constexpr double small = std::is_same_v<Real, float> ? 1e-5 : 1e-13;

struct Counts {
    std::int64_t members, columns;
};

/// Members and columns of calls, which begin with the fewest.
std::vector<Counts> counts(const Spec& spec) {
    return {{1, 1}, {1, 2 * spec.rhs + 1}, {spec.batch, spec.rhs}, {spec.batch, 2 * spec.rhs + 1}, {1, spec.rhs}};
}

template <class Real>
void check_pointer_calls(Solver& solver, const Counts& count) {
    const auto& spec = solver.plan().choice().spec;
    const auto [members, columns] = count;
    Inputs<Real> in(spec, members, columns);
    Guarded<Real> x(in.b.size());
    FactorOptions<Real> options;
    options.members = members;
    options.columns = columns;
    const SweepOptions sweep{columns, nullptr, members};
    solver.factor_solve(in.d.data(), in.e.data(), in.b.data(), x.data(), {}, options);
    CHECK(in.residual(x) < small<Real>);
    solver.solve(in.b.data(), x.data(), {}, sweep);
    CHECK(in.residual(x) < small<Real>);
    CHECK(x.intact());
    if (spec.precision == Precision::mixed) return;
    Guarded<Real> y(in.b.size()), again(in.b.size());
    solver.factor_forward(in.d.data(), in.e.data(), in.b.data(), y.data(), {}, options);
    solver.factor(in.d.data(), in.e.data(), {}, options);
    solver.forward(in.b.data(), y.data(), {}, sweep);
    solver.backward(y.data(), again.data(), {}, sweep);
    CHECK(in.residual(again) < small<Real>);
    const auto each = members * spec.block * spec.block;
    Guarded<Real> diagonal(each * spec.horizon), coupling(each * (spec.horizon - 1));
    solver.selected_inverse(diagonal.data(), coupling.data(), {}, sweep);
    Guarded<double> log_determinants(members), quadratics(members * spec.rhs);
    solver.copy_log_determinant(log_determinants.data(), members);
    if (columns <= spec.rhs) solver.copy_quadratic(quadratics.data(), members);
    CHECK((y.intact() && again.intact() && diagonal.intact() && coupling.intact() && log_determinants.intact() && quadratics.intact()));
    CHECK(in.intact());
}

template <class Real>
void check_pointers(Precision precision) {
    for (const auto& [spec, schedule, workers] : cases(precision)) {
        INFO(spec.block, " ", schedule);
        const Plan plan(spec, Device::cpu(), tuning(schedule, workers));
        Guarded<char> workspace(Solver::workspace_bytes(plan)), value(Solver::workspace_bytes(plan));
        Solver solver(plan, workspace.data(), workspace.size());
        Factors factors(plan);
        for (const auto& count : counts(spec)) {
            check_pointer_calls<Real>(solver, count);
            check_pointer_calls<Real>(*factors.fresh(value.data()), count);
            CHECK((workspace.intact() && value.intact()));
        }
    }
}

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

template <class Real>
void check_c_calls(trifold_solver* solver, const Spec& spec, const Counts& count, std::int64_t factored) {
    const auto [members, columns] = count;
    Inputs<Real> in(spec, members, columns);
    trifold_options options;
    trifold_options_init(&options);
    options.members = members;
    options.columns = columns;
    Guarded<Real> x(in.b.size()), y(in.b.size());
    const auto each = members * spec.block * spec.block;
    Guarded<Real> diagonal(each * spec.horizon), coupling(each * (spec.horizon - 1));
    const auto run = [&](std::uint64_t operation, const std::array<const void*, 3>& from, const std::array<void*, 2>& to) {
        for (const int on_host : {0, 1}) {
            trifold_call call;
            trifold_call_init(&call);
            call.operation = operation, call.on_host = on_host, call.options = &options;
            call.precision = static_cast<trifold_precision>(spec.precision);
            std::ranges::copy(from, call.in);
            std::ranges::copy(to, call.out);
            CHECK(trifold_run(solver, &call) == TRIFOLD_OK);
        }
    };
    auto *const d = in.d.data(), *const e = in.e.data(), *const b = in.b.data();
    run(TRIFOLD_FACTOR_SOLVE, {d, e, b}, {x.data()});
    CHECK(in.residual(x) < small<Real>);
    run(TRIFOLD_FACTOR_FORWARD, {d, e, b}, {y.data()});
    run(TRIFOLD_FACTOR, {d, e}, {});
    run(TRIFOLD_FORWARD, {b}, {y.data()});
    run(TRIFOLD_BACKWARD, {y.data()}, {x.data()});
    CHECK(in.residual(x) < small<Real>);
    run(TRIFOLD_SOLVE, {b}, {x.data()});
    CHECK(in.residual(x) < small<Real>);
    run(TRIFOLD_INVERSE, {}, {diagonal.data(), coupling.data()});
    check_copies<trifold_outcome>(trifold_outcomes, solver, factored);
    check_copies<double>(trifold_log_determinant, solver, factored);
    if (columns <= spec.rhs) check_copies<double>(trifold_quadratic, solver, members * columns);
    CHECK((x.intact() && y.intact() && diagonal.intact() && coupling.intact() && in.intact()));
}

trifold_spec c_spec(const Spec& spec) {
    trifold_spec result;
    trifold_spec_init(&result, spec.block, spec.horizon);
    result.rhs = spec.rhs;
    result.batch = spec.batch;
    result.precision = static_cast<trifold_precision>(spec.precision);
    result.order = static_cast<trifold_order>(spec.order);
    result.coupling = static_cast<trifold_coupling>(spec.coupling);
    result.rhs_layout = static_cast<trifold_rhs_layout>(spec.rhs_layout);
    result.d_leading = spec.d.leading;
    result.d_stage = spec.d.stage;
    result.d_member = spec.d.member;
    result.e_leading = spec.e.leading;
    result.operations = TRIFOLD_USUAL | TRIFOLD_INVERSE;
    return result;
}

template <class Real>
void check_c(Precision precision) {
    for (const auto& [spec, schedule, workers] : cases(precision)) {
        CAPTURE(spec.block);
        const auto given = c_spec(spec);
        trifold_tuning how;
        trifold_tuning_init(&how);
        how.schedule = schedule;
        how.workers = workers;
        trifold_plan* plan = nullptr;
        trifold_solver* solver = nullptr;
        REQUIRE(trifold_plan_create(&given, "cpu", &how, &plan) == TRIFOLD_OK);
        Guarded<char> workspace(trifold_plan_workspace_bytes(plan));
        REQUIRE(trifold_solver_create(plan, workspace.data(), workspace.size(), &solver) == TRIFOLD_OK);
        std::int64_t factored = 0;
        for (const auto& count : counts(spec)) {
            factored = std::max(factored, count.members);
            check_c_calls<Real>(solver, spec, count, factored);
        }
        CHECK(workspace.intact());
        trifold_solver_destroy(solver);
        trifold_plan_destroy(plan);
    }
}

}  // namespace

TEST_CASE("canaries: pointer calls write nothing beside their results, their workspace and their value") {
    check_pointers<double>(Precision::f64);
    check_pointers<float>(Precision::f32);
    check_pointers<double>(Precision::mixed);
}

TEST_CASE("canaries: calls of the C interface write nothing beside their results and their workspace") {
    check_c<double>(Precision::f64);
    check_c<float>(Precision::f32);
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
