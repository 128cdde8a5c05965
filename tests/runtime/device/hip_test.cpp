#define __HIP_DISABLE_CPP_FUNCTIONS__
#include <hip/hip_runtime_api.h>

#include <trifold/trifold.hpp>

#include "runtime/compile/async.hpp"
#include "tests/runtime/device/emulation.hpp"
#include "tests/runtime/tridiagonal/fixture.hpp"
#include "tests/runtime/tridiagonal/solver_runner.hpp"
#include "tests/support/capture_file.hpp"
#include "tests/support/cpu/checks.hpp"

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

/// On HIP, while another device is current.
class HipEmulation : public EmulatedPlan {
  public:
    HipEmulation(const Spec& spec, const Tuning& given) : EmulatedPlan(spec, given, {Backend::hip, "gfx1100"}) { (void)hipSetDevice(1); }
    ~HipEmulation() {
        expect_clean();
        (void)hipSetDevice(0);
    }
    /// The caller's device is current again, too.
    void expect_clean() const {
        CHECK(current_device() == 1);
        EmulatedPlan::expect_clean();
    }
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
        const Spec spec{.block = 5, .horizon = 9, .rhs = 2, .batch = 2, .operations = all_operations()};
        const HipEmulation emulation(spec, given);
        SolverRunner runner(Plan(spec, Device::hip(0), given));
        check_errors(errors_of(runner, {.columns = 3}));  // two panels
        CHECK(fake_cuda().kernel_launches == 0);
        CHECK(fake_cuda().graph_launches > 0);
    }
}

TEST_CASE("host memory given as device memory, and a device without room") {
    const Spec spec{.block = 3, .horizon = 5};
    const HipEmulation emulation(spec, tuning("sequential"));
    Problem<double> problem(spec, 1, 4);
    const Plan plan(spec, Device::hip(0), tuning("sequential"));
    Solver solver(plan);
    solver.factor<double>(problem.input.d, problem.input.e);
    CHECK_REFUSED("give device memory", solver.solve(problem.input.b.data(), problem.x.data()));
    fake_cuda().memory_bytes = 1000;
    CHECK_THROWS_WITH_AS(Solver{plan}, doctest::Contains("Fake has 1000 free of 1000"), DeviceError);
}

TEST_CASE("every driver call that fails is named, and nothing leaks") {
    const Spec spec{.block = 3, .horizon = 5};
    const HipEmulation emulation(spec, tuning("twisted:2"));
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
    const HipEmulation emulation(spec, tuning("twisted:2"));
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
    const HipEmulation emulation(spec, tuning("sequential"));
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
    check_json(line.at("operations").at("factor"), {{"calls", 4}, {"timed", 1}});
}
