// The whole path on a real GPU through the public interface, against dense algebra in double.
#include <trifold/trifold.hpp>

#include "tests/device/device.hpp"
#include "tests/device/on_device.hpp"
#include "tests/runtime/tridiagonal/solver_runner.hpp"
#include "tests/support/capture_file.hpp"
#include "tests/support/cpu/call.hpp"
#include "tests/support/cpu/checks.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

Plan plan_of(const Device& device, const Spec& spec, const std::string& schedule, const std::string& variant = "auto") {
    return Plan(spec, device, {.schedule = schedule, .variant = device.backend() == Backend::cuda ? variant : "auto"});
}

void check_both(const Device& device, Spec spec, const std::string& schedule, const std::string& variant = "auto", bool inverse = true) {
    if (inverse) spec.operations = all_operations();
    for (const auto precision : {Precision::f64, Precision::f32}) {
        spec.precision = precision;
        INFO(fmt::format("n {} N {} m {} batch {} {} {} {}", spec.block, spec.horizon, spec.rhs, spec.batch, schedule, variant,
                         to_string(precision)));
        SolverRunner runner(plan_of(device, spec, schedule, variant));
        check_errors(errors_of(runner));
        if (spec.batch > 1) check_errors(option_errors_of(runner));
    }
}

/// Arrays of a call on memory of the device.
struct Memory {
    Memory(const Device& device, const Spec& spec, unsigned seed)
        : systems(random_systems(spec, spec.rhs, seed)),
          user(arrays<double>(spec, systems)),
          tools(device),
          d(tools, user.d),
          e(tools, user.e),
          b(tools, user.b),
          x(tools, std::vector<double>(user.b.size(), 7.0)) {}
    void factor_solve(Solver& solver) { solver.factor_solve(d.get(), e.get(), b.get(), x.get(), {tools.stream()}); }
    std::vector<System> systems;
    Arrays<double> user;
    DeviceTools tools;
    OnDevice<double> d, e, b, x;
};

template <class Real>
void check_walks_of(const Device& device, Spec spec, const std::string& schedule, const std::string& variant) {
    spec = Call<Real>::with_precision(spec);
    INFO(variant, " ", spec.block);
    Solver solver(plan_of(device, spec, schedule, variant));
    check_walks(spec, [&](const std::vector<System>& systems, bool accept) {
        const auto user = arrays<Real>(spec, systems);
        solver.factor(user.d, user.e, {.accept_nearly_singular = accept});
        std::vector<trifold_status> result;
        for (const auto& outcome : solver.status())
            result.push_back({outcome.block, outcome.row, outcome.floors, outcome.least_pivot, outcome.nearly_singular});
        return result;
    });
}

}  // namespace

TEST_CASE("gpu: the whole range of exponents") {
    const auto gpu = device();
    if (!gpu) return;
    struct Case {
        std::int64_t block;
        const char *schedule, *variant;
    };
    for (const auto& [block, schedule, variant] : {Case{12, "multi-stage", "fused"},
                                                   {40, "twisted:2", "tiled"},
                                                   {7, "sequential", "team"},
                                                   {12, "recursive:2", "team"},
                                                   {20, "twisted:2", "chains"},
                                                   {50, "sequential", "chains"},
                                                   {12, "multi-stage", "dataflow"},
                                                   {40, "multi-stage", "dataflow"},
                                                   {70, "multi-stage", "tile-dataflow"}}) {
        for (const auto precision : {Precision::f64, Precision::f32}) {
            INFO(block, " ", schedule, " ", variant, " ", to_string(precision));
            const Spec spec{.block = block, .horizon = 7, .precision = precision, .rhs = 2};
            SolverRunner runner(plan_of(*gpu, with_units(spec, 4), schedule, variant));
            check_errors(range_errors_of(runner, 4, false));
        }
    }
}

TEST_CASE("gpu: every schedule") {
    const auto gpu = device();
    if (!gpu) return;
    for (const std::string schedule :
         {"sequential", "single-stage", "multi-stage", "partitioned:3", "twisted:2", "twisted:4", "recursive:2:3", "segments:3,2"})
        check_both(*gpu, {.block = 12, .horizon = 31, .rhs = 3, .batch = 2}, schedule);
}

TEST_CASE("gpu: every block size") {
    const auto gpu = device();
    if (!gpu) return;
    const std::string schedules[] = {"twisted:2", "partitioned:3", "multi-stage"};
    int k = 0;
    for (const std::int64_t n : {1, 4, 7, 8, 16, 24, 31, 32, 33, 48, 64, 96, 100, 128})
        check_both(*gpu, {.block = n, .horizon = 7, .rhs = k % 4 == 3 ? 8 : 1}, schedules[k++ % 3]);
}

TEST_CASE("gpu: large blocks") {
    const auto gpu = device();
    if (!gpu) return;
    check_both(*gpu, {.block = 200, .horizon = 5, .rhs = 3}, "partitioned:2");
    check_both(*gpu, {.block = 65, .horizon = 9, .rhs = 5, .batch = 2}, "twisted:4");
    check_both(*gpu, {.block = 512, .horizon = 3}, "multi-stage", "auto", false);
    check_both(*gpu, {.block = 1024, .horizon = 2}, "sequential", "auto", false);
    check_both(*gpu, {.block = 1537, .horizon = 2}, "twisted:2", "auto", false);
}

TEST_CASE("gpu: tiled kernels on small blocks") {
    const auto gpu = device();
    if (!gpu) return;
    for (const std::int64_t n : {7, 32, 33, 64}) check_both(*gpu, {.block = n, .horizon = 9, .rhs = 3}, "twisted:4", "tiled");
}

TEST_CASE("gpu: batches by teams") {
    const auto gpu = device();
    if (!gpu) return;
    for (const std::int64_t n : {1, 7, 12, 24})
        check_both(*gpu, {.block = n, .horizon = 9, .rhs = n == 7 ? 9 : 3, .batch = 37}, "sequential", "team", false);
    for (const std::int64_t n : {1, 3, 4, 8, 16})
        check_both(*gpu, {.block = n, .horizon = 101, .rhs = n == 4 ? 9 : 1, .batch = n == 3 ? 5 : 1}, n == 8 ? "twisted:7" : "recursive:3",
                   "team");
}

TEST_CASE("gpu: horizons, long and short") {
    const auto gpu = device();
    if (!gpu) return;
    for (const std::int64_t horizon : {1, 2, 3, 4, 5, 8, 64, 127})
        check_both(*gpu, {.block = 5, .horizon = horizon}, horizon % 2 == 0 ? "multi-stage" : "recursive:2:2");
}

TEST_CASE("gpu: places in a batch, masks, shifts, diagonals, failures and floors") {
    const auto gpu = device();
    if (!gpu) return;
    for (const auto& [schedule, block] :
         {std::pair("twisted:2", 6), {"multi-stage", 6}, {"twisted:2", 70}, {"multi-stage", 70}, {"twisted:4", 20}, {"partitioned:2", 9}})
        check_both(*gpu, {.block = block, .horizon = 9, .batch = 3}, schedule);
}

TEST_CASE("gpu: calls on memory of the device, with options there") {
    const auto gpu = device();
    if (!gpu) return;
    const Spec spec{.block = 9, .horizon = 8, .batch = 3};
    Memory memory(*gpu, spec, 9);
    auto& [systems, user, tools, d, e, b, x] = memory;
    const Stream stream{tools.stream()};
    Solver solver(Plan(spec, *gpu, {.schedule = "partitioned:2"}));
    const auto is_solved = [&](std::int64_t m) {
        const auto& system = systems[static_cast<std::size_t>(m)];
        return relative_residual(system.dense(), gather(spec, x.host(), m, 1), system.b) <= tolerance<double>;
    };
    solver.factor(d.get(), e.get(), stream);
    solver.forward(b.get(), x.get(), stream);
    solver.backward(x.get(), x.get(), stream);
    for (const std::int64_t m : {0, 1, 2}) CHECK(is_solved(m));
    const auto expected = x.host();
    solver.solve(b.get(), x.get(), stream);
    CHECK(x.host() == expected);
    std::vector<double> diagonal(static_cast<std::size_t>(spec.batch * spec.horizon * spec.block), 0.25);
    const OnDevice<double> added(tools, diagonal), shift(tools, {0.5, 1.0, 2.0}), masked(tools, std::vector<double>(user.b.size(), 7.0));
    const OnDevice<int> active(tools, {1, 0, 1});
    FactorOptions<double> options;
    options.diagonal = added.get(), options.shift = shift.get(), options.active = active.get();
    solver.factor_solve(d.get(), e.get(), b.get(), masked.get(), stream, options);
    tools.upload(x.get(), masked.host().data(), static_cast<std::int64_t>(user.b.size() * sizeof(double)));
    for (const std::int64_t m : {0, 2}) {
        for (auto& block : systems[static_cast<std::size_t>(m)].d) block.diagonal().array() += 0.25 + (m == 0 ? 0.5 : 2.0);
        CHECK(is_solved(m));
    }
    CHECK(gather(spec, x.host(), 1, 1) == Matrix::Constant(72, 1, 7.0));
}

TEST_CASE("gpu: layouts") {
    const auto gpu = device();
    if (!gpu) return;
    for (const auto order : {Order::row_major, Order::column_major})
        for (const auto coupling : {Coupling::lower, Coupling::upper})
            check_both(*gpu,
                       {.block = 10,
                        .horizon = 6,
                        .rhs = 2,
                        .batch = 2,
                        .order = order,
                        .coupling = coupling,
                        .rhs_layout = RhsLayout::stacked,
                        .d = {.leading = 11, .stage = 123},
                        .e = {.leading = 13}},
                       "twisted:2");
}

TEST_CASE("gpu: a call may be captured in the caller's graph") {
    const auto gpu = device();
    if (!gpu) return;
    const Spec spec{.block = 16, .horizon = 20};
    Memory memory(*gpu, spec, 4);
    Solver solver(Plan(spec, *gpu, {.schedule = "multi-stage"}));
    memory.factor_solve(solver);
    const auto expected = memory.x.host();
    const auto replay = memory.tools.capture([&] { memory.factor_solve(solver); });
    const std::vector<double> rubbish(expected.size(), 3.0);
    memory.tools.upload(memory.x.get(), rubbish.data(), static_cast<std::int64_t>(rubbish.size() * sizeof(double)));
    for (int k = 0; k < 3; ++k) replay();
    CHECK(memory.x.host() == expected);
}

TEST_CASE("gpu: a captured Solver has its calls timed by the device, and no bit changes") {
    const auto gpu = device();
    if (!gpu) return;
    const Spec spec{.block = 16, .horizon = 20};
    Memory memory(*gpu, spec, 4);
    const Plan plan(spec, *gpu, {.schedule = "multi-stage"});
    Solver plain(plan);
    memory.factor_solve(plain);
    const auto expected = memory.x.host();
    const CaptureFile file;
    {
        Solver solver(plan);
        for (int k = 0; k < 9; ++k) {
            memory.factor_solve(solver);
            CHECK(memory.x.host() == expected);
        }
        const auto replay = memory.tools.capture([&] { memory.factor_solve(solver); });
        for (int k = 0; k < 3; ++k) replay();
        CHECK(memory.x.host() == expected);
    }
    const auto operation = file.only().at("operations").at("factor_solve");
    const bool on_cpu = gpu->backend() == Backend::cpu;  // where nothing is recorded
    check_json(operation, {{"calls", (on_cpu ? 12 : 9)}, {"recorded", (on_cpu ? 0 : 1)}, {"timed", 4}});
    CHECK(operation.at("seconds") > 1e-6);
    CHECK(operation.at("seconds") < 1e-2);
}

TEST_CASE("gpu: random walks without an anchor are nearly singular or not positive definite, and with a weak one sound") {
    const auto gpu = device();
    if (!gpu) return;
    for (const std::int64_t horizon : {7, 50})
        for (const std::string variant : {"team", "fused", "tiled", "dataflow", "tile-dataflow"}) {
            const auto* schedule = variant == "dataflow" ? "multi-stage" : "twisted:3";
            const Spec spec{.block = horizon == 7 ? 3 : 6, .horizon = horizon, .batch = 12};
            check_walks_of<double>(*gpu, spec, schedule, variant);
            check_walks_of<float>(*gpu, spec, schedule, variant);
        }
    check_walks_of<double>(*gpu, {.block = 1, .horizon = 50, .batch = 64}, "sequential", "team");
    check_walks_of<double>(*gpu, {.block = 40, .horizon = 50, .batch = 4}, "multi-stage", "dataflow");
}
