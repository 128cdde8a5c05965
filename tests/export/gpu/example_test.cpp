// The example in the project of an exported solver, run against the fake driver.
#include <cuda.h>

#include "tests/export/gpu/exported.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

/// Status of the example's main.
int run_example(const GpuExportRequest& request) {
    const Scope scope;
    const Library library(request, "btd_solver.c btd_kernels_*.c example_main.c");
    const EmulatedUnit unit(choice_of(request), EmulatedUnit::Build::plain);
    fake_cuda().kernels = unit.handles();
    const auto status = library.function<int()>("example_main")();
    CHECK(fake_cuda().graph_launches >= 21);
    return status;
}

}  // namespace

TEST_CASE(EXPORT_BACKEND " export: the example solves its problem and frees what it made") {
    const Operations usual{Operation::factor, Operation::solve, Operation::factor_solve};
    CHECK(run_example(gpu_request({.block = 3, .horizon = 5, .rhs = 2, .batch = 2, .operations = usual}, "twisted:2")) == 0);
    CHECK(run_example(gpu_request({.block = 4, .horizon = 1, .precision = Precision::f32, .operations = usual}, "sequential")) == 0);
    CHECK(run_example(gpu_request({.block = 2, .horizon = 4, .operations = {Operation::factor, Operation::solve}}, "sequential")) == 0);
}

TEST_CASE(EXPORT_BACKEND " export: the example notices a solution that is wrong") {
    const auto request = gpu_request({.block = 2, .horizon = 3}, "sequential");
    const Scope scope;
    const Library library(request, "btd_solver.c btd_kernels_*.c example_main.c");
    auto other = request;  // kernels by the same names that solve without the coupling: their E has a stride of 0 and is zero beyond it
    other.spec.horizon = 3;
    auto program = gpu_export_programs(other).at(0);
    auto& source = program.units.front().source;
    const std::string mark = "#define TRIFOLD_E_STAGE ";
    const auto at = source.find(mark);
    REQUIRE(at != std::string::npos);
    source.replace(at, source.find('\n', at) - at, mark + "0LL");
    const EmulatedUnit unit(choice_of(other), program, EmulatedUnit::Build::plain);
    fake_cuda().kernels = unit.handles();
    CHECK(library.function<int()>("example_main")() == 1);
}
