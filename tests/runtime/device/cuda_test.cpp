#include <trifold/grid_args.h>

#include <trifold/trifold.hpp>

#include "runtime/compile/async.hpp"
#include "runtime/compile/cache.hpp"
#include "runtime/compile/compiler.hpp"
#include "tests/runtime/device/emulation.hpp"
#include "tests/runtime/grid/problems.hpp"
#include "tests/runtime/tridiagonal/fixture.hpp"
#include "tests/runtime/tridiagonal/solver_runner.hpp"
#include "tests/support/capture_file.hpp"
#include "tests/support/cpu/checks.hpp"

using namespace trifold;
using namespace trifold::test;

/// The architectures of what was to be compiled.
static std::set<std::string> asked_for;
/// In place of compiling: the fake driver has the kernels already. (NVRTC would look into the fake driver and crash.)
Binary trifold::obtain(const Unit& unit) {
    asked_for.insert(code_name(unit));
    return {"emulated", "emulator", {}, {}, {}, true, 0};
}
/// Whether the cache has all of them.
static bool all_cached = true;
std::optional<Binary> trifold::obtain_cached(const Unit& unit, const std::string&) {
    return all_cached ? std::optional(obtain(unit)) : std::nullopt;
}

TEST_CASE("the device found through the driver") {
    const auto device = Device::cuda(0);
    CHECK(device.name() == "Fake");
    CHECK(to_string(device.target()) == "cuda:sm_90");
    CHECK(Device::parse("auto").backend() == Backend::cuda);
    CHECK(probe_cuda().driver == "13.0");
    CHECK_THROWS_WITH_AS(Device::cuda(1), doctest::Contains("found 1 device"), DeviceError);
}

/// Solves on a GPU of this capability, and expects kernels for that target to be asked for by this name.
static void expect_code(int capability, const std::string& arch, const std::string& code) {
    CAPTURE(capability);
    const Spec spec{.block = 4, .horizon = 7};
    const Emulation emulation(spec, tuning("twisted:2"), arch);
    fake_cuda().capability = capability;
    const auto device = Device::cuda(0);
    REQUIRE(device.target().arch == arch);
    asked_for.clear();
    Problem<double> problem(spec, 1, 4);
    Solver solver(Plan(spec, device, tuning("twisted:2")));
    solver.factor_solve<double>(problem.input.d, problem.input.e, problem.input.b, problem.x);
    CHECK(problem.residual() < 1e-14);
    CHECK(asked_for == std::set<std::string>{code});
}

TEST_CASE("a GPU takes machine code of its major version, and PTX of an older one") {
    expect_code(90, "sm_90", "sm_90");
    expect_code(125, "sm_121", "sm_121");
    expect_code(130, "sm_121", "compute_121");
    const Emulation emulation({.block = 2, .horizon = 2}, {});
    fake_cuda().capability = 70;
    CHECK_THROWS_WITH_AS(Device::cuda(0), doctest::Contains("sm_75 or newer"), DeviceError);
}

TEST_CASE("where nothing can be compiled, a GPU takes the newest kernels that layers have for it") {
    std::string folder = (std::filesystem::temp_directory_path() / "trifold-layer-XXXXXX").string();
    REQUIRE(::mkdtemp(folder.data()) != nullptr);
    const Cache layer(folder);
    ::setenv("TRIFOLD_BINARIES", folder.c_str(), 1);
    ::setenv("TRIFOLD_DISABLE", "jit", 1);
    layer.publish_target("sm_80");
    expect_code(86, "sm_80", "sm_80");
    expect_code(90, "sm_90", "sm_90");  // which will say that there is no code
    layer.publish_target("compute_80");
    expect_code(90, "sm_80", "compute_80");
    expect_code(130, "sm_80", "compute_80");
    layer.publish_target("sm_90");
    expect_code(90, "sm_90", "sm_90");
    expect_code(130, "sm_80", "compute_80");
    ::unsetenv("TRIFOLD_DISABLE");
    ::unsetenv("TRIFOLD_BINARIES");
    std::filesystem::remove_all(folder);
}

TEST_CASE("every operation as a graph, from host memory, with all that options ask for") {
    for (const auto* schedule : {"twisted:2", "multi-stage"}) {
        CAPTURE(schedule);
        const Spec spec{.block = 5, .horizon = 9, .rhs = 2, .batch = 2, .operations = all_operations()};
        const Emulation emulation(spec, tuning(schedule));
        SolverRunner runner(Plan(spec, Device::cuda(0), tuning(schedule)));
        check_errors(errors_of(runner, {.columns = 3}));  // two panels
        const auto allocations = fake_cuda().device_allocations;
        check_errors(errors_of(runner, {.columns = 3}));
        CHECK(fake_cuda().device_allocations == allocations);
        check_errors(option_errors_of(runner));
        CHECK(fake_cuda().kernel_launches == 0);
        CHECK(fake_cuda().early_edges ==
              (schedule == std::string("multi-stage") ? 10 : 0));  // an edge too few is a race, one too many a wait
    }
}

TEST_CASE("mixed precision as a graph: copies, rounds and panels, and what does not converge") {
    const Spec spec{.block = 5, .horizon = 9, .precision = Precision::mixed, .rhs = 2, .batch = 2};
    const Emulation emulation(spec, tuning("multi-stage"));
    Problem<double> problem(spec, 3, 4);  // two panels
    Solver solver(Plan(spec, Device::cuda(0), tuning("multi-stage")));
    solver.factor_solve<double>(problem.input.d, problem.input.e, problem.input.b, problem.x, {.columns = 3});
    CHECK(problem.residual() < 1e-14);
    problem.x = problem.input.b;
    problem.input.d.assign(problem.input.d.size(), 0);  // the Solver has a copy
    solver.solve<double>(problem.x, problem.x, {.columns = 3});
    CHECK(problem.residual() < 1e-14);
    CHECK_NOTHROW(solver.check());
    for (const auto& member : solver.refinement()) CHECK((member.converged && member.iterations >= 1));
    CHECK(fake_cuda().kernel_launches == 0);
    const auto middle = problem.input.b.size() / 2 + 1;  // member 1, the second column
    for (std::size_t k = middle; k < problem.input.b.size(); k += 3) problem.input.b[k] *= 1e-100;
    solver.solve<double>(problem.input.b, problem.x, {.columns = 3});
    CHECK(solver.refinement().at(0).converged);
    CHECK(solver.refinement().at(1).converged == 0);
    CHECK_THROWS_AS(solver.check(), NotConverged);
}

TEST_CASE("new pointers go into the graph, the same ones cost no update, captured streams get plain launches") {
    const Spec spec{.block = 4, .horizon = 7, .batch = 3};
    const Emulation emulation(spec, tuning("twisted:2"));
    Problem<double> problem(spec, 1, 4);
    auto& x = problem.x;
    const DeviceArray d(problem.input.d), e(problem.input.e), b(problem.input.b), first(x), second(x);
    const Plan plan(spec, Device::cuda(0), tuning("twisted:2"));
    Solver solver(plan);
    const auto launches = static_cast<int>(plan.program().operations.at("factor_solve").size());
    auto& fake = fake_cuda();
    const auto expect_solution = [&](const DeviceArray<double>& where) {
        where.read(x);
        CHECK(problem.residual() < 1e-14);
    };
    solver.factor_solve(d.data(), e.data(), b.data(), first.data());
    expect_solution(first);
    CHECK(fake.node_updates == launches);
    solver.factor_solve(d.data(), e.data(), b.data(), first.data());
    CHECK(fake.node_updates == launches);
    solver.factor_solve(d.data(), e.data(), b.data(), second.data());
    expect_solution(second);
    CHECK(fake.node_updates == 2 * launches);
    CHECK(fake.graph_launches == 3);

    CUstream stream = nullptr;
    DeviceArray<double>::in_context([&] {
        cuStreamCreate(&stream, 0);
        cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    });
    const DeviceArray third(std::vector<double>(x.size(), 0.0));
    solver.factor_solve(d.data(), e.data(), b.data(), third.data(), {stream});
    CHECK(fake.graph_launches == 3);
    CHECK(fake.kernel_launches == launches);
    expect_solution(third);
    CHECK_NOTHROW(solver.check());
    DeviceArray<double>::in_context([&] { cuStreamDestroy(stream); });
}

TEST_CASE("an operation whose code comes late: its first call loads it, also into a graph of the caller's, and prepare() loads all") {
    const Spec spec{.block = 4, .horizon = 7};
    const Emulation emulation(spec, tuning("twisted:2"));
    ::setenv("TRIFOLD_NVRTC", "/nowhere/libnvrtc.so", 1);  // so that nothing is compiled in the background
    all_cached = false;
    Problem<double> problem(spec, 1, 4);
    auto& fake = fake_cuda();
    const DeviceArray d(problem.input.d), e(problem.input.e), b(problem.input.b), x(problem.x);
    for (const bool prepares : {false, true}) {
        const Plan plan(spec, Device::cuda(0), tuning("twisted:2"));
        const auto& operations = plan.program().operations;
        const auto modules = fake.modules, graphs = fake.executables;
        Solver solver(plan);
        const auto at_first = fake.executables - graphs;
        CHECK(at_first < static_cast<int>(operations.size()));
        if (prepares) {
            solver.prepare();
            CHECK(fake.executables - graphs == static_cast<int>(operations.size()));
        }
        solver.factor(d.data(), e.data());
        CHECK(fake.executables - graphs == (prepares ? static_cast<int>(operations.size()) : at_first + 1));
        CHECK(fake.modules > modules);
        CUstream stream = nullptr;
        DeviceArray<double>::in_context([&] {
            cuStreamCreate(&stream, 0);
            cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
        });
        const auto launches = fake.kernel_launches;
        solver.solve(b.data(), x.data(), {stream});
        CHECK(fake.kernel_launches == launches + static_cast<int>(operations.at("solve").size()));
        DeviceArray<double>::in_context([&] { cuStreamDestroy(stream); });
        x.read(problem.x);
        CHECK(problem.residual() < 1e-14);
        CHECK(plan.report().kernels.empty());  // the emulator says nothing of them, and all are there
        CHECK(fake.disturbances == 0);
    }
    all_cached = true;
    ::unsetenv("TRIFOLD_NVRTC");
}

TEST_CASE("a call on host memory waits for one on another stream") {
    const Spec spec{.block = 3, .horizon = 5};
    const Emulation emulation(spec, tuning("sequential"));
    Problem<double> problem(spec, 1, 4);
    Solver solver(Plan(spec, Device::cuda(0), tuning("sequential")));
    const DeviceArray d(problem.input.d), e(problem.input.e);
    const CallersStream stream;
    const auto overtakes = fake_cuda().overtakes;
    solver.factor(d.data(), e.data(), {stream.get()});
    solver.solve<double>(problem.input.b, problem.x);
    CHECK(fake_cuda().overtakes == overtakes);
    CHECK(problem.residual() < 1e-14);
}

TEST_CASE("a workspace of the caller's, and what is wrong with one") {
    const Spec spec{.block = 3, .horizon = 5};
    const Emulation emulation(spec, tuning("sequential"));
    Problem<double> problem(spec, 1, 4);
    const Plan plan(spec, Device::cuda(0), tuning("sequential"));
    const auto bytes = Solver::workspace_bytes(plan);
    const DeviceArray workspace(std::vector<double>(static_cast<std::size_t>(bytes / 8 + 1)));
    Solver solver(plan, workspace.data(), bytes);
    solver.factor_solve<double>(problem.input.d, problem.input.e, problem.input.b, problem.x);
    CHECK(problem.residual() < 1e-14);
    CHECK_REFUSED("bytes; this Plan needs", Solver(plan, workspace.data(), bytes - 1));
    alignas(256) static char host[256];
    CHECK_REFUSED("not memory that Fake can read", Solver(plan, host, bytes));
    CHECK_REFUSED("give device memory", solver.solve(problem.input.b.data(), problem.x.data()));
    CHECK_THROWS_AS(solver.set_executor([](auto, const auto&) {}), SpecError);
}

TEST_CASE("a solver goes on with another one's factor on a device") {
    const Spec spec{.block = 5, .horizon = 9};
    const auto chosen = Tuning{.schedule = "multi-stage", .variant = "dataflow"};
    CHECK(widened(choose(spec, Device::cuda(0).target(), chosen), 20).spec.rhs == 32);
    const Emulation emulation(spec, chosen);
    Problem<double> problem(spec, 20, 4);
    const auto& [d, e, b] = problem.input;
    const Plan plan(spec, Device::cuda(0), chosen);
    Solver one(plan), taker(plan);
    CHECK_THROWS_WITH_AS(taker.take_factor(one), "take_factor needs a factorization; call factor, factor_forward or factor_solve first",
                         SpecError);
    one.factor<double>(d, e);
    for (int k = 0; k < 3; ++k) one.solve<double>(b, problem.x, {20});  // so that the two count different numbers of sweeps
    taker.take_factor(one);
    const auto x = std::exchange(problem.x, std::vector<double>(problem.x.size()));
    taker.solve<double>(b, problem.x, {20});
    CHECK(problem.residual() < 1e-14);
    CHECK(problem.x == x);
    CHECK(taker.log_determinant() == one.log_determinant());
    CHECK(taker.ok());
}

TEST_CASE("factors are values on a device: copied, their memory used by others, and more of them than there are graphs") {
    for (const auto& [schedule, variant] : {std::pair{"twisted:2", "auto"}, {"multi-stage", "dataflow"}}) {
        CAPTURE(schedule);
        const Spec spec{.block = 5, .horizon = 9};
        auto chosen = tuning(schedule);
        chosen.variant = variant;
        const Emulation emulation(spec, chosen);
        Problem<double> problem(spec, 1, 4);
        const DeviceArray d(problem.input.d), e(problem.input.e), b(problem.input.b), x(problem.x);
        const DeviceArray log_determinant(std::vector<double>{0}), quadratic(std::vector<double>{0});
        Factors factors(Plan(spec, Device::cuda(0), chosen));
        const std::vector<char> poisoned(static_cast<std::size_t>(factors.bytes()), '\x77');
        const DeviceArray value(poisoned), third(poisoned);
        for (int k = 0; k < 12; ++k) {
            const DeviceArray copy(poisoned);
            factors.fresh(value.data())->factor(d.data(), e.data());
            std::copy_n(value.data(), poisoned.size(), copy.data());
            std::copy(poisoned.begin(), poisoned.end(), value.data());
            auto borrowed = factors.filled(copy.data());
            borrowed->solve(b.data(), x.data());
            x.read(problem.x);
            CHECK(problem.residual() < 1e-14);
            {
                auto copied = factors.copied(copy.data(), third.data());
                copied->solve(b.data(), x.data());
                x.read(problem.x);
                CHECK(problem.residual() < 1e-14);
            }
            borrowed->forward(b.data(), x.data());
            borrowed->copy_quadratic(quadratic.data(), 1);
            borrowed->copy_log_determinant(log_determinant.data(), 1);
            CHECK(*quadratic.data() == borrowed->quadratic()[0]);
            CHECK(*log_determinant.data() == borrowed->log_determinant()[0]);
        }
        alignas(64) static char on_host[64];
        CHECK_REFUSED("not memory that Fake can read", factors.fresh(on_host));
    }
}

TEST_CASE("not enough device memory says how much is needed and how much there is") {
    const Spec spec{.block = 3, .horizon = 5};
    const Emulation emulation(spec, tuning("sequential"));
    const Plan plan(spec, Device::cuda(0), tuning("sequential"));
    fake_cuda().memory_bytes = 1000;
    const auto needed = std::to_string(Solver::workspace_bytes(plan)) + " bytes of device memory; Fake has 1000 free of 1000";
    CHECK_THROWS_WITH_AS(Solver{plan}, doctest::Contains(needed.c_str()), DeviceError);
}

TEST_CASE("every driver call that fails is named, and nothing leaks") {
    const Spec spec{.block = 3, .horizon = 5};
    const Emulation emulation(spec, tuning("multi-stage"));
    Problem<double> problem(spec, 1, 4);
    for (const auto* call :
         {"cuModuleGetFunction", "cuStreamCreate", "cuMemAlloc", "cuMemsetD8Async", "cuGraphCreate", "cuGraphAddKernelNode",
          "cuGraphAddDependencies_v2", "cuGraphInstantiateWithFlags", "cuGraphUpload", "cuStreamSynchronize",
          "cuGraphExecKernelNodeSetParams", "cuGraphLaunch", "cuStreamIsCapturing", "cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync"}) {
        CAPTURE(call);
        fake_cuda().failing_call = std::string(call) == "cuMemAlloc" ? "cuMemAlloc_v2" : call;
        for (const auto* versioned : {"cuGraphAddKernelNode", "cuGraphExecKernelNodeSetParams", "cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync"}) {
            if (call == std::string(versioned)) fake_cuda().failing_call += "_v2";
        }
        const auto attempt = [&] {
            Solver solver(Plan(spec, Device::cuda(0), tuning("multi-stage")));
            solver.factor_solve<double>(problem.input.d, problem.input.e, problem.input.b, problem.x);
        };
        CHECK_THROWS_WITH_AS(attempt(), doctest::Contains(call), LaunchError);
        emulation.expect_clean();
        fake_cuda().failing_call.clear();
        CHECK_NOTHROW(attempt());
    }
}

namespace {

const Spec captured_spec{.block = 4, .horizon = 7, .batch = 3};

/// The steps of a program: calls on device arrays, and after some of them it waits.
struct CapturedRun {
    std::vector<double> x;
    int synchronizations = 0, graph_launches = 0;
};

CapturedRun run_captured(int calls, bool waits) {
    Problem<double> problem(captured_spec, 1, 4);
    const DeviceArray d(problem.input.d), e(problem.input.e), b(problem.input.b), x(problem.x);
    const auto before = fake_cuda();
    {
        Solver solver(Plan(captured_spec, Device::cuda(0), tuning("twisted:2")));
        for (int k = 0; k < calls; ++k) {
            solver.factor_solve(d.data(), e.data(), b.data(), x.data());
            if (waits) solver.synchronize();
        }
    }
    x.read(problem.x);
    CHECK(problem.residual() < 1e-14);
    return {problem.x, fake_cuda().synchronizations - before.synchronizations, fake_cuda().graph_launches - before.graph_launches};
}

/// Makes the fake driver emulate the kernels of this GridSpec.
class GridEmulation {
  public:
    explicit GridEmulation(const GridSpec& spec) {
        auto& fake = fake_cuda();
        for (const auto& unit : generate(spec, {Backend::cuda, "sm_90"}).units) {
            libraries_.push_back(compile_unit(unit.source, Backend::cuda, 32, false));
            connect(libraries_.back().get(), emulator_);
            fake.kernels.push_back(libraries_.back().get());
        }
        fake.parameters = &parameters_of<trifold_grid_args, trifold_grid_launch>;
    }
    ~GridEmulation() { fake_cuda() = {}; }
    GridEmulation(const GridEmulation&) = delete;
    GridEmulation& operator=(const GridEmulation&) = delete;

  private:
    std::vector<std::shared_ptr<void>> libraries_;
    Emulator emulator_{};
};

}  // namespace

TEST_CASE("capture on a device: calls and times, no bit and no wait more") {
    const Emulation emulation(captured_spec, tuning("twisted:2"));
    const auto plain = run_captured(9, true);
    CHECK(fake_cuda().event_records == 0);
    const CaptureFile file;
    const auto captured = run_captured(9, true);
    CHECK(captured.x == plain.x);
    CHECK(captured.synchronizations == plain.synchronizations);
    CHECK(captured.graph_launches == plain.graph_launches);
    CHECK(fake_cuda().event_records == 2 * 4);  // calls 1, 2, 4, 8
    const auto line = file.only();
    check_json(line, {{"target", "cuda:sm_90"}, {"device", "Fake"}, {"schedule", "twisted:2"}});
    const auto& operation = line.at("operations").at("factor_solve");
    check_json(operation, {{"calls", 9}, {"members", 27}, {"timed", 4}});
    CHECK(operation.at("seconds") == doctest::Approx(1e-3));
}

TEST_CASE("events that have not happened are asked for later, at the latest when the engine has ended its work") {
    const Emulation emulation(captured_spec, tuning("twisted:2"));
    const CaptureFile file;
    fake_cuda().events_pending = true;
    {
        Problem<double> problem(captured_spec, 1, 4);
        const DeviceArray d(problem.input.d), e(problem.input.e);
        Solver solver(Plan(captured_spec, Device::cuda(0), tuning("twisted:2")));
        for (int k = 0; k < 5; ++k) solver.factor(d.data(), e.data());
        CHECK(fake_cuda().event_records == 2);  // one call is under way, and its events are not used again
        CHECK(file.only().at("operations").at("factor").at("timed") == 0);
        CHECK(!file.only().at("operations").at("factor").contains("seconds"));
        fake_cuda().events_pending = false;
    }
    const auto operation = file.only().at("operations").at("factor");
    check_json(operation, {{"calls", 5}, {"timed", 1}});
    CHECK(operation.at("seconds") == doctest::Approx(1e-3));
}

TEST_CASE("a call that is recorded into a graph of the caller's is counted, and neither timed nor disturbed") {
    const Emulation emulation(captured_spec, tuning("twisted:2"));
    const CaptureFile file;
    Problem<double> problem(captured_spec, 1, 4);
    const DeviceArray d(problem.input.d), e(problem.input.e);
    CUstream stream = nullptr;
    {
        Solver solver(Plan(captured_spec, Device::cuda(0), tuning("twisted:2")));
        Solver other(Plan(captured_spec, Device::cuda(0), tuning("twisted:2")));
        fake_cuda().events_pending = true;
        other.factor(d.data(), e.data());
        DeviceArray<double>::in_context([&] {
            cuStreamCreate(&stream, 0);
            cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
        });
        const auto records = fake_cuda().event_records;
        for (int k = 0; k < 3; ++k) solver.factor(d.data(), e.data(), {stream});
        CHECK(fake_cuda().event_records == records);
        const auto queries = fake_cuda().event_queries;
        other.factor(d.data(), e.data());  // asks for the time of its first call while the graph is recorded
        CHECK(fake_cuda().event_queries > queries);
        DeviceArray<double>::in_context([&] { cuStreamDestroy(stream); });
    }
    CHECK(fake_cuda().disturbances == 0);
    bool is_found = false;
    for (const auto& [id, line] : file.last()) {
        const auto& operation = line.at("operations").at("factor");
        if (operation.at("recorded") == 0) continue;
        is_found = true;
        check_json(operation, {{"recorded", 3}, {"calls", 0}, {"timed", 0}});
    }
    CHECK(is_found);
}

TEST_CASE("events that cannot be made, recorded or asked for give no time, and nothing else") {
    const Emulation emulation(captured_spec, tuning("twisted:2"));
    for (const auto* call : {"cuEventCreate", "cuEventRecord", "cuEventQuery", "cuEventElapsedTime_v2", "cuEventElapsedTime"}) {
        CAPTURE(call);
        const CaptureFile file;
        fake_cuda().failing_call = call;
        run_captured(5, true);
        fake_cuda().failing_call.clear();
        const auto operation = file.only().at("operations").at("factor_solve");
        CHECK(operation.at("calls") == 5);
        if (std::string(call).find("Elapsed") == std::string::npos) CHECK(operation.at("timed") == 0);
        emulation.expect_clean();
    }
}

TEST_CASE("images from the host's memory wait for a call on another stream") {
    auto spec = spec_of(9, 7);
    spec.operations = {GridOperation::factor, GridOperation::solve};
    const GridEmulation emulation(spec);
    const auto image = problem("anisotropic", 9, 7, 3);
    const auto b = noise(image.pixels(), 1);
    std::vector<double> x(b.size());
    {
        GridSolver solver(GridPlan(spec, Device::cuda(0)));
        const DeviceArray stencil(image.stencil);
        const CallersStream stream;
        const auto overtakes = fake_cuda().overtakes;
        solver.factor(stencil.data(), {stream.get()});
        solver.solve(b, x);
        CHECK(fake_cuda().overtakes == overtakes);
        CHECK_NOTHROW(solver.check());
    }
    const Eigen::VectorXd solution = column(x, 0, image.pixels(), 1, 0), right = column(b, 0, image.pixels(), 1, 0);
    CHECK((matrix_of(image, spec) * solution - right).norm() <= 1e-12 * right.norm());
}

/// In load_in_c.cpp, since trifold.h has names that kernels have too. For blocks of 5, 7 of them, and twisted:2; the text of an error.
std::string load_and_solve_in_c(std::span<const double> d, std::span<const double> e, std::span<const double> b, std::span<double> x);

TEST_CASE("D and E are loaded in pieces, overwritten by a factorization, and asked for again") {
    const auto spec = that_loads({.block = 5, .horizon = 7});
    const Emulation emulation(spec, tuning("twisted:2"));
    Problem<double> problem(spec, 1, 4);
    const auto& [d, e, b] = problem.input;
    Solver solver(Plan(spec, Device::cuda(0), tuning("twisted:2")));
    const DeviceArray<double> on_d(d), on_e(e), on_b(b);
    const std::int64_t area = 25;
    const auto solve = [&] { solver.factor_solve<double>(nullptr, nullptr, on_b.data(), on_b.data()); };
    solver.load(on_d.data() + 3 * area, on_e.data() + 3 * area, 3);
    CHECK_THROWS_WITH_AS(solve(), doctest::Contains("block 0 have not been loaded"), SpecError);
    solver.load(on_d.data(), on_e.data(), 0, 3);
    solve();
    on_b.read(problem.x);
    CHECK(problem.residual() < 1e-14);
    CHECK_THROWS_WITH_AS(solve(), doctest::Contains("overwrote them"), SpecError);
    SUBCASE("a new load ends the factor") {
        solver.load(on_d.data() + 6 * area, static_cast<const double*>(nullptr), 6, 1);
        CHECK_THROWS_WITH_AS(solver.solve(on_b.data(), on_b.data()), doctest::Contains("needs a factorization"), SpecError);
    }
    SUBCASE("given D and E are loaded, and those of the host piece by piece") {
        solver.factor_solve(d, e, b, problem.x);
        CHECK(problem.residual() < 1e-14);
        for (std::int64_t k = 0; k < spec.horizon; ++k)
            solver.load(std::span(d).subspan(k * area, area), std::span(e).subspan(k * area, k + 1 < spec.horizon ? area : 0), k, 1);
        problem.x.assign(b.size(), 0);
        solver.factor(std::span<const double>(), std::span<const double>());
        solver.solve(b, problem.x);
        CHECK(problem.residual() < 1e-14);
    }
    SUBCASE("in C") {
        problem.x.assign(b.size(), 0);
        CHECK(load_and_solve_in_c(d, e, b, problem.x) == "");
        CHECK(problem.residual() < 1e-14);
    }
    SUBCASE("bad pieces") {
        const auto refused = [&](std::int64_t first, std::int64_t blocks, const char* why) {
            CHECK_THROWS_WITH_AS(solver.load(on_d.data(), on_e.data(), first, blocks), doctest::Contains(why), SpecError);
        };
        refused(-1, 1, "out of range"), refused(7, 0, "out of range"), refused(3, 5, "out of range"), refused(0, -1, "out of range");
        CHECK_THROWS_WITH_AS(solver.load(on_d.data(), static_cast<const double*>(nullptr)), doctest::Contains("E"), SpecError);
        CHECK_THROWS_WITH_AS(solver.load(std::span(d).first(2 * area), std::span(e).first(area), 0, 2), doctest::Contains("E has 25"),
                             SpecError);
        CHECK_THROWS_WITH_AS(solver.factor<double>(nullptr, on_e.data()), doctest::Contains("D"), SpecError);
    }
}

TEST_CASE("a border around a chain that is loaded ahead, and systems of a batch") {
    for (const auto& spec : {Spec{.block = 5, .horizon = 7, .border = 3}, Spec{.block = 5, .horizon = 4, .rhs = 2, .batch = 3}}) {
        std::vector<double> f(static_cast<std::size_t>(7 * 3 * 5), 0.25), c{9, 0, 0, 1, 9, 0, 1, 1, 9}, tip_b{1, 2, 3}, tips[2];
        std::vector<double> x[2];
        for (const bool loads : {false, true}) {
            const auto given = loads ? that_loads(spec) : spec;
            auto how = tuning("twisted:2");
            how.variant = "tile-dataflow";
            const Emulation emulation(given, how);
            const Problem<double> problem(spec, spec.rhs, 4);
            FactorOptions<double> options;
            tips[loads].resize(3);
            if (spec.border > 0) options = {.f = f.data(), .c = c.data(), .tip_b = tip_b.data(), .tip_x = tips[loads].data()};
            x[loads].resize(problem.input.b.size());
            Solver solver(Plan(given, Device::cuda(0), how));
            if (loads) solver.load(problem.input.d, problem.input.e);
            const std::span<const double> none, d = loads ? none : problem.input.d, e = loads ? none : problem.input.e;
            solver.factor_solve<double>(d, e, problem.input.b, x[loads], options);
            solver.check();
        }
        CHECK(x[0] == x[1]);
        CHECK(tips[0] == tips[1]);
    }
}
