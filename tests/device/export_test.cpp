// Exported CUDA projects on a device, by the real driver.
#include "generator/export/gpu/export.hpp"

#include <trifold/binary.hpp>
#include <trifold/device.hpp>

#include "tests/export/c99/project.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

bool has_device() {
    const bool found = !probe_cuda().devices.empty();
    if (!found) MESSAGE("skipped: no CUDA device");
    return found;
}

Project compiled_project(const Spec& spec, const std::vector<Target>& targets, const std::string& schedule = "auto") {
    GpuExportRequest request;
    request.spec = spec;
    request.targets = targets;
    request.tuning.schedule = schedule;
    std::vector<KernelCode> code;
    for (const auto& program : gpu_export_programs(request)) {
        const auto binary = obtain(program.units.front());
        code.push_back({binary.code, binary.compiler, binary.kernels});
    }
    return Project(export_gpu_project(request, code));
}

void check_runs(const Project& project, const std::string& command) {
    const auto ran = project.run(command);
    INFO(command, "\n", ran.out);
    CHECK(ran.status == 0);
}

const char* const program = R"(
#include "btd_solver.h"
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#define EXPECT(condition) if (!(condition)) { printf("%s\n", #condition); return 1; }
enum { SQUARE = BTD_BLOCK * BTD_BLOCK, BLOCKS = BTD_BATCH * BTD_HORIZON, ROWS = BLOCKS * BTD_BLOCK };
static double host[2 * BLOCKS * SQUARE + ROWS], direct[ROWS], replayed[ROWS];
static btd_solver solver;

int main(void) {
    CUdevice device;
    CUcontext context;
    CUstream stream;
    CUgraph graph;
    CUgraphExec executable;
    CUdeviceptr arrays, workspace;
    btd_real *d, *e, *b, *x;
    btd_status status;
    size_t k, of_member = ROWS / BTD_BATCH;
    for (k = 0; k < BLOCKS * SQUARE; ++k) host[k] = k % SQUARE % (BTD_BLOCK + 1) == 0 ? 4 * BTD_BLOCK : (double)(k * 7 % 5) / 5;
    for (k = BLOCKS * SQUARE; k < 2 * BLOCKS * SQUARE; ++k) host[k] = (double)(k * 11 % 7) / 7;
    for (k = 2 * BLOCKS * SQUARE; k < 2 * BLOCKS * SQUARE + ROWS; ++k) host[k] = 1;
    EXPECT(cuInit(0) == 0 && cuDeviceGet(&device, 0) == 0 && cuDevicePrimaryCtxRetain(&context, device) == 0 && cuCtxSetCurrent(context) == 0)
    EXPECT(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == 0)
    EXPECT(cuMemAlloc(&arrays, sizeof host + 2 * sizeof direct) == 0 && cuMemAlloc(&workspace, btd_workspace_size()) == 0)
    EXPECT(cuMemcpyHtoD(arrays, host, sizeof host) == 0)
    d = (btd_real*)(uintptr_t)arrays, e = d + BLOCKS * SQUARE, b = e + BLOCKS * SQUARE, x = b + ROWS;
    EXPECT(btd_create(&solver, (void*)(uintptr_t)workspace) == BTD_OK)

    EXPECT(btd_factor_solve(&solver, d, e, b, x, NULL, stream) == BTD_OK && btd_check(&solver, stream).code == BTD_OK)
    EXPECT(cuMemcpyDtoH(direct, (CUdeviceptr)(uintptr_t)x, sizeof direct) == 0)

    /* Captured into a graph of the caller's, for another X. */
    EXPECT(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL) == 0)
    EXPECT(btd_factor_solve(&solver, d, e, b, x + ROWS, NULL, stream) == BTD_OK)
    EXPECT(cuStreamEndCapture(stream, &graph) == 0 && cuGraphInstantiateWithFlags(&executable, graph, 0) == 0)
    EXPECT(cuGraphLaunch(executable, stream) == 0 && cuGraphLaunch(executable, stream) == 0 && cuStreamSynchronize(stream) == 0)
    EXPECT(cuMemcpyDtoH(replayed, (CUdeviceptr)(uintptr_t)(x + ROWS), sizeof replayed) == 0)
    EXPECT(memcmp(direct, replayed, sizeof direct) == 0)

    /* The second system fails at block 2, row 3. */
    k = (1 * BTD_HORIZON + 2) * SQUARE + 3 * BTD_BLOCK + 3;
    host[k] = -1;
    EXPECT(cuMemcpyHtoD(arrays + k * sizeof *host, &host[k], sizeof *host) == 0)
    EXPECT(btd_factor_solve(&solver, d, e, b, x, NULL, stream) == BTD_OK)
    status = btd_check(&solver, stream);
    EXPECT(status.code == BTD_NOT_POSITIVE_DEFINITE && status.member == 1 && status.block == 2 && status.row == 3)
    EXPECT(cuMemcpyDtoH(replayed, (CUdeviceptr)(uintptr_t)x, sizeof replayed) == 0)
    EXPECT(memcmp(direct, replayed, of_member * sizeof *direct) == 0 && isnan(replayed[of_member]))
    btd_destroy(&solver);
    return 0;
}
)";

}  // namespace

TEST_CASE("gpu export: the example runs on the device") {
    if (!has_device()) return;
    const auto target = Device::cuda(0).target();
    for (const auto& spec :
         {Spec{.block = 12, .horizon = 64, .operations = export_operations()},
          Spec{.block = 12, .horizon = 64, .batch = 8, .operations = export_operations()},
          Spec{.block = 32, .horizon = 128, .precision = Precision::f32, .rhs = 2, .operations = {Operation::factor, Operation::solve}},
          Spec{.block = 7, .horizon = 33, .batch = 100, .operations = export_operations()}})
        check_runs(compiled_project(spec, {target}), "make -s run");
}

TEST_CASE("gpu export: replays are bitwise the same, capture included, and a failing system is named") {
    if (!has_device()) return;
    const Spec spec{.block = 5, .horizon = 9, .batch = 3, .operations = export_operations()};
    for (const auto* schedule : {"multi-stage", "twisted:2"}) {
        const auto project = compiled_project(spec, {Device::cuda(0).target()}, schedule);
        project.write("example_main.c", program);
        check_runs(project, "make -s run");
    }
}

TEST_CASE("gpu export: a device that the project is not for") {
    if (!has_device()) return;
    const bool is_75 = Device::cuda(0).target().arch == "sm_75";
    const Spec spec{.block = 3, .horizon = 4, .operations = export_operations()};
    const auto project = compiled_project(spec, {{Backend::cuda, is_75 ? "sm_80" : "sm_75"}});
    const auto ran = project.run("make -s run");
    INFO(ran.out);
    CHECK(ran.status != 0);
    CHECK(says(ran.out, "the kernels are for other devices than the current one"));
}
