#define __HIP_DISABLE_CPP_FUNCTIONS__
#include <hip/hip_runtime_api.h>

#include <trifold/trifold.hpp>

#include "runtime/compile/async.hpp"
#include "tests/runtime/tridiagonal/fixture.hpp"
#include "tests/support/capture_file.hpp"
#include "tests/support/drivers/drivers.hpp"
#include "tests/support/emulator/unit.hpp"
#include "tests/support/test.hpp"

using namespace trifold;
using namespace trifold::test;

/// In place of compiling: the fake driver has the kernels already.
Binary trifold::obtain(const Unit&) { return {"emulated", "emulator", {}, {}, {}, true, 0}; }
std::optional<Binary> trifold::obtain_cached(const Unit& unit, const std::string&) { return obtain(unit); }

namespace {

int current_device() {
    int device = -1;
    (void)hipGetDevice(&device);
    return device;
}

/// Makes the fake driver emulate the kernels of this Plan while another device is current, and takes note of what is alive.
class Emulation {
  public:
    Emulation(const Spec& spec, const Tuning& given)
        : before_(fake_cuda()), unit_(choose(spec, {Backend::hip, "gfx1100"}, given), EmulatedUnit::Build::plain) {
        fake_cuda().kernels = unit_.handles();
        fake_cuda().take_parameters_of(unit_.program());
        (void)hipSetDevice(1);
    }
    ~Emulation() {
        expect_clean();
        (void)hipSetDevice(0);
        fake_cuda() = {};
    }
    Emulation(const Emulation&) = delete;
    Emulation& operator=(const Emulation&) = delete;
    /// The caller's device is current again and everything made has been destroyed.
    void expect_clean() const {
        CHECK(current_device() == 1);
        const auto& after = fake_cuda();
        CHECK(after.contexts == before_.contexts);
        CHECK(after.modules == before_.modules);
        CHECK(after.allocations == before_.allocations);
        CHECK(after.streams == before_.streams);
        CHECK(after.events == before_.events);
        CHECK(after.graphs == before_.graphs);
        CHECK(after.executables == before_.executables);
    }

  private:
    FakeCuda before_;
    EmulatedUnit unit_;
};

}  // namespace

TEST_CASE("the devices found through the driver") {
    const auto device = Device::hip(0);
    CHECK(device.name() == "Fake");
    CHECK(to_string(device.target()) == "hip:gfx1100");
    CHECK(Device::parse("hip").name() == "Fake");
    CHECK(Device::parse("hip:0").name() == "Fake");
    CHECK(probe_hip().driver == "6.2");
    CHECK(probe_hip().devices.size() == 1);
    CHECK_THROWS_WITH_AS(Device::parse("hip:1"), doctest::Contains("Old) is a gfx803, for which this library generates no code"),
                         DeviceError);
    CHECK_THROWS_WITH_AS(Device::hip(2), doctest::Contains("found 2 device"), DeviceError);
    if (probe_cuda().devices.empty()) CHECK(Device::parse("auto").backend() == Backend::hip);
}

TEST_CASE("every operation as a graph, from host memory") {
    for (const auto* variant : {"auto", "dataflow", "tile-dataflow"}) {
        CAPTURE(variant);
        const Tuning given{.schedule = "multi-stage", .variant = variant};
        const Spec spec{.block = 5, .horizon = 9, .rhs = 2, .batch = 2};
        const Emulation emulation(spec, given);
        Problem<double> problem(spec, 3, 4);  // two panels
        const auto& [d, e, b] = problem.input;
        auto& x = problem.x;
        Solver solver(Plan(spec, Device::hip(0), given));
        FactorOptions<double> fused;
        SweepOptions sweep;
        fused.columns = sweep.columns = 3;
        const auto expect_solution = [&] {
            CHECK(problem.residual() < 1e-14);
            x.assign(x.size(), 0);
        };
        solver.factor_solve<double>(d, e, b, x, fused);
        expect_solution();
        solver.factor<double>(d, e);
        solver.solve<double>(b, x, sweep);
        expect_solution();
        solver.factor_forward<double>(d, e, b, x, fused);
        solver.backward<double>(x, x, sweep);
        expect_solution();
        CHECK_NOTHROW(solver.check());
        CHECK(fake_cuda().kernel_launches == 0);
        CHECK(fake_cuda().graph_launches > 0);
    }
}

TEST_CASE("host memory given as device memory, and a device without room") {
    const Spec spec{.block = 3, .horizon = 5};
    const Emulation emulation(spec, tuning("sequential"));
    Problem<double> problem(spec, 1, 4);
    const Plan plan(spec, Device::hip(0), tuning("sequential"));
    Solver solver(plan);
    solver.factor<double>(problem.input.d, problem.input.e);
    CHECK_THROWS_WITH_AS(solver.solve(problem.input.b.data(), problem.x.data()), doctest::Contains("give device memory"), SpecError);
    fake_cuda().memory_bytes = 1000;
    CHECK_THROWS_WITH_AS(Solver{plan}, doctest::Contains("Fake has 1000 free of 1000"), DeviceError);
}

TEST_CASE("every driver call that fails is named, and nothing leaks") {
    const Spec spec{.block = 3, .horizon = 5};
    const Emulation emulation(spec, tuning("twisted:2"));
    Problem<double> problem(spec, 1, 4);
    for (const auto* call : {"hipModuleGetFunction", "hipStreamCreateWithFlags", "hipMalloc", "hipMemsetAsync", "hipGraphCreate",
                             "hipGraphAddKernelNode", "hipGraphInstantiate", "hipStreamSynchronize", "hipGraphExecKernelNodeSetParams",
                             "hipGraphLaunch", "hipStreamIsCapturing", "hipMemcpyAsync"}) {
        CAPTURE(call);
        fake_cuda().failing_call = call;
        const auto attempt = [&] {
            Solver solver(Plan(spec, Device::hip(0), tuning("twisted:2")));
            solver.factor_solve<double>(problem.input.d, problem.input.e, problem.input.b, problem.x);
        };
        CHECK_THROWS_WITH_AS(attempt(), doctest::Contains(call), LaunchError);
        emulation.expect_clean();
        fake_cuda().failing_call.clear();
        CHECK_NOTHROW(attempt());
    }
}

TEST_CASE("without graphs kernels are launched one by one") {
    const Spec spec{.block = 4, .horizon = 7};
    const Emulation emulation(spec, tuning("twisted:2"));
    Problem<double> problem(spec, 1, 4);
    setenv("TRIFOLD_DISABLE", "graph", 1);
    Solver solver(Plan(spec, Device::hip(0), tuning("twisted:2")));
    unsetenv("TRIFOLD_DISABLE");
    solver.factor_solve<double>(problem.input.d, problem.input.e, problem.input.b, problem.x);
    CHECK(problem.residual() < 1e-14);
    CHECK(fake_cuda().graph_launches == 0);
    CHECK(fake_cuda().kernel_launches > 0);
}

TEST_CASE("capture by HIP's events, which leaves no error of its own behind") {
    const Spec spec{.block = 3, .horizon = 5};
    const Emulation emulation(spec, tuning("sequential"));
    const CaptureFile file;
    Problem<double> problem(spec, 1, 4);
    {
        Solver solver(Plan(spec, Device::hip(0), tuning("sequential")));
        fake_cuda().events_pending = true;
        for (int k = 0; k < 4; ++k) solver.factor<double>(problem.input.d, problem.input.e);
        CHECK(fake_cuda().event_queries > 0);
        CHECK(hipPeekAtLastError() == hipSuccess);
        fake_cuda().events_pending = false;
    }
    const auto line = file.only();
    CHECK(line.at("target") == "hip:gfx1100");
    CHECK(line.at("operations").at("factor").at("calls") == 4);
    CHECK(line.at("operations").at("factor").at("timed") == 1);
}
