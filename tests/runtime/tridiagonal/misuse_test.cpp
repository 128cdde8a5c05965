#include <trifold/trifold.hpp>

#include "tests/runtime/tridiagonal/fixture.hpp"
#include "tests/support/test.hpp"

using namespace trifold;
using namespace trifold::test;

TEST_CASE("calls in the wrong order say what to call first") {
    Problem<double> problem({.block = 3, .horizon = 4, .operations = all_operations()}, 1, 1);
    const auto& [d, e, b] = problem.input;
    Solver solver(Plan(problem.spec, Device::cpu()));
    CHECK_REFUSED("call factor", solver.solve<double>(b, problem.x));
    CHECK_THROWS_AS(solver.forward<double>(b, problem.x), SpecError);
    CHECK_THROWS_AS(solver.backward<double>(b, problem.x), SpecError);
    std::vector<double> diagonal(36), coupling(27);
    CHECK_THROWS_AS(solver.selected_inverse<double>(diagonal, coupling), SpecError);
    CHECK_THROWS_AS(solver.status(), SpecError);
    CHECK_THROWS_AS(solver.check(), SpecError);
    CHECK_THROWS_AS(solver.log_determinant(), SpecError);
    solver.factor<double>(d, e);
    CHECK_REFUSED("forward sweep", solver.quadratic());
    solver.solve<double>(b, problem.x);
    CHECK_NOTHROW(solver.quadratic());
}

TEST_CASE("what has been moved from says so") {
    const Spec spec{.block = 2, .horizon = 3};
    Plan plan(spec, Device::cpu());
    Solver solver(plan);
    const Solver taken(std::move(solver));
    CHECK_REFUSED("moved from", solver.check());  // NOLINT(bugprone-use-after-move)
    CHECK_THROWS_AS(solver.ok(), SpecError);
    CHECK_THROWS_AS(solver.status(), SpecError);
    CHECK_THROWS_AS(solver.synchronize(), SpecError);
    CHECK_THROWS_AS(solver.plan(), SpecError);
    CHECK_THROWS_AS(solver.set_executor({}), SpecError);
    const double* none = nullptr;
    CHECK_THROWS_AS(solver.factor(none, none), SpecError);
    const Plan other(std::move(plan));
    CHECK_REFUSED("moved from", plan.program());  // NOLINT(bugprone-use-after-move)
    CHECK_THROWS_AS(Solver{plan}, SpecError);
    CHECK_THROWS_AS(Solver::workspace_bytes(plan), SpecError);
    CHECK_REFUSED("null pointer", Solver(other, nullptr, Solver::workspace_bytes(other)));
    CHECK(taken.plan().choice().spec == other.choice().spec);
}

TEST_CASE("host arrays of any size but the Spec's are refused, before their places are looked at") {
    Problem<double> problem({.block = 3, .horizon = 4, .batch = 2}, 1, 1);
    const auto& [d, e, b] = problem.input;
    Solver solver(Plan(problem.spec, Device::cpu()));
    const std::vector<double> two_columns(48), other(96);
    std::vector<double> x(48);
    CHECK_REFUSED("give more columns in the options", solver.factor_solve<double>(d, e, two_columns, x));
    CHECK_REFUSED("D has 96 elements", solver.factor_solve<double>(other, e, b, problem.x));
    CHECK_REFUSED("X has 23 elements", solver.factor_solve<double>(d, e, b, std::span(x).first(23)));
    // One array for two, and too short for either.
    CHECK_REFUSED("B has 23", solver.factor_solve<double>(d, e, std::span(x).first(23), std::span(x).first(20)));
    // Arrays of the whole batch serve fewer members, and strides may leave room behind the last block.
    solver.factor_solve<double>(d, e, b, problem.x, {.members = 1});
    const Spec apart{.block = 2, .horizon = 2, .d = {.leading = 3, .stage = 10}};
    Solver loose(Plan(apart, Device::cpu()));
    std::vector<double> spread(20), coupling(4), right(4, 1.0), solution(4);
    for (const std::size_t k : {0U, 4U, 10U, 14U}) spread[k] = 2;
    loose.factor_solve<double>(spread, coupling, right, solution);
    for (const double value : solution) CHECK(value == doctest::Approx(0.5).epsilon(1e-15));
}

TEST_CASE("operations that were not planned say what to add") {
    Problem<double> problem({.block = 3, .horizon = 4, .operations = {Operation::factor_solve, Operation::backward}}, 3, 1);
    const auto& [d, e, b] = problem.input;
    const Plan plan(problem.spec, Device::cpu());
    CHECK(plan.program().operations.size() == 2);
    Solver solver(plan);
    CHECK_THROWS_WITH_AS(solver.factor<double>(d, e),
                         "this Plan has no kernels for factor; add it to the Spec's operations, which are backward,factor_solve",
                         SpecError);
    CHECK_REFUSED("solve, which takes the columns beyond", solver.factor_solve<double>(d, e, b, problem.x, {.columns = 3}));
    CHECK_THROWS_AS(solver.check(), SpecError);  // nothing was factored on the way
    const auto one = std::span(b).first(12);
    std::vector<double> x(12);
    solver.factor_solve<double>(d, e, one, x);
    solver.backward<double>(one, x);
    CHECK_REFUSED("no kernels for solve", solver.solve<double>(one, x));
    CHECK_REFUSED("no kernels for forward", solver.forward<double>(one, x));
    std::vector<double> diagonal(36), coupling(27);
    CHECK_REFUSED("no kernels for inverse", solver.selected_inverse<double>(diagonal, coupling));
}

TEST_CASE("options out of range") {
    Problem<double> problem({.block = 3, .horizon = 4, .batch = 2}, 1, 1);
    const auto& [d, e, b] = problem.input;
    Solver solver(Plan(problem.spec, Device::cpu()));
    FactorOptions<double> options;
    for (const double floor : {-1e-3, 1.0, std::numeric_limits<double>::quiet_NaN()}) {
        options.pivot_floor = floor;
        CHECK_REFUSED("pivot_floor", solver.factor<double>(d, e, options));
    }
}

TEST_CASE("a workspace beyond the machine's memory is a DeviceError with the size") {
    const Plan plan({.block = 1000, .horizon = 10'000'000}, Device::cpu(), tuning("sequential"));
    const auto text = std::to_string(Solver::workspace_bytes(plan)) + " bytes";
    CHECK_THROWS_WITH_AS(Solver{plan}, doctest::Contains(text.c_str()), DeviceError);
}

TEST_CASE("more workers than there can be") {
    CHECK_REFUSED("workers = 1025 is out of range; give 1 to 1024",
                  Plan{{.block = 2, .horizon = 3}, Device::cpu(), tuning("sequential", 1025)});
}

TEST_CASE("devices that are not here, and names that are none") {
    CHECK(Device::parse("cpu").target() == Device::cpu().target());
    CHECK(Device::cpu().target().arch != "native");
    CHECK(Device::cpu().memory_bytes() > 0);
    for (const auto* text : {"", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:1x", "cpu:z80", "cuda:99999999999999"}) {
        CAPTURE(text);
        CHECK_THROWS_AS(Device::parse(text), Error);
    }
    const auto found = probe_cuda();
    const auto count = static_cast<int>(found.devices.size());
    CHECK((count > 0 || !found.problem.empty()));
    CHECK_THROWS_WITH_AS(Device::cuda(count), doctest::Contains("CUDA device"), DeviceError);
    if (count == 0) CHECK_THROWS_WITH_AS(Device::parse("cuda"), doctest::Contains(found.problem.c_str()), DeviceError);
#if defined(__x86_64__)
    CHECK(Device::parse("cpu:x86-64").name() == "cpu:x86-64");
    CHECK_THROWS_AS(Device::parse("cpu:armv8-a"), DeviceError);
#endif
}

TEST_CASE("executors that do not keep their word are found out") {
    Problem<double> problem({.block = 3, .horizon = 4, .batch = 6}, 1, 1);
    const auto& [d, e, b] = problem.input;
    Solver solver(Plan(problem.spec, Device::cpu(), tuning("sequential", 2)));
    CHECK_THROWS_AS(solver.set_executor({}), SpecError);
    solver.set_executor([](std::int64_t, const auto&) {});
    CHECK_THROWS_WITH_AS(solver.factor<double>(d, e), doctest::Contains("ran 0 of"), LaunchError);
    solver.set_executor([](std::int64_t tasks, const auto& run) {
        for (std::int64_t k = 0; k < tasks; ++k) run(k, 2);
    });
    CHECK_THROWS_AS(solver.factor<double>(d, e), LaunchError);
    CHECK_REFUSED("call factor", solver.solve<double>(b, problem.x));
    solver.set_executor([](std::int64_t tasks, const auto& run) {
        for (std::int64_t k = tasks; k-- > 0;) run(k, 1);
    });
    solver.factor_solve<double>(d, e, b, problem.x);
    CHECK(problem.residual() < 1e-14);
}

TEST_CASE("a second thread inside one Solver gets an error") {
    Problem<double> problem({.block = 3, .horizon = 4, .batch = 2}, 1, 1);
    const auto& [d, e, b] = problem.input;
    Solver solver(Plan(problem.spec, Device::cpu(), tuning("sequential", 2)));
    int refused = 0;
    solver.set_executor([&, inside = false](std::int64_t tasks, const auto& run) mutable {
        if (!inside) {
            inside = true;
            std::thread([&] {
                const auto call = [&](auto work) {
                    try {
                        work();
                    } catch (const SpecError&) {
                        ++refused;
                    }
                };
                call([&] { solver.factor<double>(d, e); });
                call([&] { solver.set_executor([](auto, const auto&) {}); });
            }).join();
        }
        for (std::int64_t k = 0; k < tasks; ++k) run(k, 0);
    });
    solver.factor_solve<double>(d, e, b, problem.x);
    CHECK(refused == 2);
    CHECK(problem.residual() < 1e-14);
}
