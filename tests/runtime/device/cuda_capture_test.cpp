#include <trifold/trifold.hpp>

#include "tests/runtime/device/emulation.hpp"
#include "tests/runtime/tridiagonal/fixture.hpp"
#include "tests/support/capture_file.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

const Spec captured_spec{.block = 4, .horizon = 7, .batch = 3};

/// What a program does: calls on device arrays, and after some of them it waits.
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
    CHECK(line.at("target") == "cuda:sm_90");
    CHECK(line.at("device") == "Fake");
    CHECK(line.at("schedule") == "twisted:2");
    const auto& operation = line.at("operations").at("factor_solve");
    CHECK(operation.at("calls") == 9);
    CHECK(operation.at("members") == 27);
    CHECK(operation.at("timed") == 4);
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
    CHECK(operation.at("calls") == 5);
    CHECK(operation.at("timed") == 1);
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
        CHECK(operation.at("recorded") == 3);
        CHECK(operation.at("calls") == 0);
        CHECK(operation.at("timed") == 0);
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
