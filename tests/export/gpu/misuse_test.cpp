// What an exported solver says of misuse, and of a driver that fails.
#include <set>

#include "tests/export/gpu/exported.hpp"
#include "tests/runtime/tridiagonal/fixture.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

const Spec small{.block = 2, .horizon = 3, .batch = 2, .operations = {Operation::factor, Operation::solve, Operation::factor_solve}};

struct Arguments {
    std::vector<double> d, e, b, x;
};
Arguments arguments() {
    Problem<double> problem(small, 1, 1);
    return {problem.input.d, problem.input.e, problem.input.b, problem.x};
}

int factor_solve(Exported& solver, Arguments& with, const Options* options = nullptr) {
    return solver.call("factor_solve", options, (const double*)with.d.data(), (const double*)with.e.data(), (const double*)with.b.data(),
                       with.x.data());
}

template <class Change>
GpuExportRequest changed(Change change) {
    auto result = gpu_request(small, "sequential");
    change(result);
    return result;
}

}  // namespace

TEST_CASE(EXPORT_BACKEND " export: bad arguments") {
    Exported solver(gpu_request(small, "sequential"));
    auto with = arguments();
    const double *d = with.d.data(), *e = with.e.data(), *b = with.b.data(), *none = nullptr;
    auto* x = with.x.data();
    const auto* odd = reinterpret_cast<const double*>(reinterpret_cast<const char*>(d) + 4);
    CHECK(solver.call("factor_solve", nullptr, none, e, b, x) == bad_argument);
    CHECK(solver.call("factor_solve", nullptr, d, none, b, x) == bad_argument);
    CHECK(solver.call("factor_solve", nullptr, d, e, none, x) == bad_argument);
    CHECK(solver.call("factor_solve", nullptr, d, e, b, static_cast<double*>(nullptr)) == bad_argument);
    CHECK(solver.call("factor_solve", nullptr, odd, e, b, x) == bad_argument);
    for (const auto& options : {Options{.members = -1}, Options{.members = 3}, Options{.shift = odd}, Options{.pivot_floor = -0.1},
                                Options{.pivot_floor = 1}, Options{.pivot_floor = std::nan("")}})
        CHECK(factor_solve(solver, with, &options) == bad_argument);
    CHECK(fake_cuda().graph_launches == 0);
    CHECK(solver.call("forward", nullptr, b, x) == not_exported);
    CHECK(solver.call("inverse", nullptr, x, x) == not_exported);
    CHECK(factor_solve(solver, with) == ok);
    CHECK(solver.check() == fine);
}

TEST_CASE(EXPORT_BACKEND " export: one block has no E") {
    Exported solver(changed([](auto& request) { request.spec.horizon = 1; }));
    const double d[] = {4, 0, 1, 3, 4, 0, 1, 3}, b[] = {1, 2, 1, 2}, *none = nullptr;
    double x[4] = {};
    CHECK(solver.call("factor_solve", nullptr, d, none, b, &x[0]) == ok);
    CHECK(x[0] == doctest::Approx(1.0 / 11));
    CHECK(x[3] == doctest::Approx(7.0 / 11));
}

TEST_CASE(EXPORT_BACKEND " export: creation refuses bad memory, and a solver that was not created refuses calls") {
    Exported solver(gpu_request(small, "sequential"));
    const auto create = solver.library().function<int(void*, void*)>("btd_create");
    auto with = arguments();
    solver.destroy();
    CHECK(factor_solve(solver, with) == bad_argument);
    CHECK(solver.check() == Status{bad_argument, -1, -1, -1});
    CHECK(solver.outcomes() == nullptr);
    CHECK(solver.ranges() == nullptr);
    CHECK(solver.log_determinant() == nullptr);
    CHECK(solver.quadratic() == nullptr);
    solver.destroy();  // twice does no harm
    CHECK(create(nullptr, solver.workspace()) == bad_argument);
    CHECK(create(solver.solver(), nullptr) == bad_argument);
    CHECK(create(solver.solver(), solver.workspace() + 128) == bad_argument);
    CHECK(solver.create() == ok);
    CHECK(factor_solve(solver, with) == ok);
}

TEST_CASE(EXPORT_BACKEND " export: a device of another architecture gets no kernels, and of several its own are taken") {
    const std::string other = std::string(EXPORT_BACKEND) == "cuda" ? "sm_87,sm_110" : "gfx942,gfx1030";
    const auto code_on = [&](const std::string& archs) {
        const Scope scope;
        const auto request = gpu_request(small, "sequential", archs);
        const Library library(request);
        const EmulatedUnit unit(choice_of(gpu_request(small, "sequential")), EmulatedUnit::Build::plain);
        fake_cuda().kernels = unit.handles();
        const auto solver = aligned_memory(library.function<std::size_t()>("size_of_solver")());
        const auto workspace = aligned_memory(library.function<std::size_t()>("btd_workspace_size")());
        const auto code = library.function<int(void*, void*)>("btd_create")(solver.get(), workspace.get());
        library.function<void(void*)>("btd_destroy")(solver.get());
        return code;
    };
    CHECK(code_on(other) == no_kernels);
    CHECK(code_on(other + "," EXPORT_ARCH) == ok);
}

TEST_CASE(EXPORT_BACKEND " export: a driver that fails is an error that says what it could not do, and leaves nothing behind") {
    const bool on_hip = std::string(EXPORT_BACKEND) == "hip";
    const auto name = [&](const char* cuda, const char* hip) { return std::string(on_hip ? hip : cuda); };
    Exported solver(gpu_request(small, "sequential"));
    auto with = arguments();
    for (const auto& call : {name("cuModuleLoadData", "hipModuleLoadData"), name("cuModuleGetFunction", "hipModuleGetFunction"),
                             name("cuMemsetD8Async", "hipMemsetAsync"), name("cuCtxSynchronize", "hipDeviceSynchronize"),
                             name("cuGraphCreate", "hipGraphCreate"), name("cuGraphAddKernelNode_v2", "hipGraphAddKernelNode"),
                             name("cuGraphInstantiateWithFlags", "hipGraphInstantiate")}) {
        INFO(call);
        solver.destroy();
        const auto before = fake_cuda();
        fake_cuda().failing_call = call;
        CHECK(solver.create() == driver_failed);
        CHECK(solver.task() != "");
        fake_cuda().failing_call.clear();
        CHECK(fake_cuda().modules == before.modules);
        CHECK(fake_cuda().graphs == before.graphs);
        CHECK(fake_cuda().executables == before.executables);
        CHECK(factor_solve(solver, with) == bad_argument);
        CHECK(solver.create() == ok);
    }
    for (const auto& call : {name("cuGraphExecKernelNodeSetParams_v2", "hipGraphExecKernelNodeSetParams"),
                             name("cuGraphLaunch", "hipGraphLaunch"), name("cuStreamIsCapturing", "hipStreamIsCapturing")}) {
        INFO(call);
        solver.destroy();
        REQUIRE(solver.create() == ok);
        fake_cuda().failing_call = call;
        CHECK(factor_solve(solver, with) == driver_failed);
        CHECK(solver.task() != "");
        fake_cuda().failing_call.clear();
        CHECK(factor_solve(solver, with) == ok);
        fake_cuda().failing_call = name("cuMemcpyDtoHAsync_v2", "hipMemcpyAsync");
        CHECK(solver.check() == Status{driver_failed, -1, -1, -1});
        fake_cuda().failing_call.clear();
        CHECK(solver.check() == fine);
    }
}

TEST_CASE(EXPORT_BACKEND " export: every code has a message of its own") {
    Exported solver(gpu_request(small, "sequential"));
    std::set<std::string> messages;
    for (const int code : {ok, not_positive_definite, not_factored, bad_argument, no_kernels, not_exported, driver_failed})
        messages.insert(solver.message(code));
    CHECK(messages.size() == 7);
    CHECK(solver.message(99) == "an unknown code");
}

TEST_CASE(EXPORT_BACKEND " export: requests that cannot be met") {
    const auto refuse = [](const GpuExportRequest& request, const char* message) { CHECK_REFUSED(message, export_gpu_project(request)); };
    refuse(changed([](auto& request) { request.targets.clear(); }), "there is no target");
    refuse(changed([](auto& request) { request.spec.order = trifold::Order::column_major; }),
           "leave order, coupling, strides and shapes out");
    refuse(changed([](auto& request) { request.spec.e.stage = 0; }), "leave order, coupling, strides and shapes out");
    refuse(changed([](auto& request) { request.spec.border = 2; }), "leave order, coupling, strides and shapes out");
    refuse(changed([](auto& request) { request.spec.operations = {Operation::factor, Operation::inverse}; }), "solve nothing");
    refuse(changed([](auto& request) { request.spec.horizon = std::int64_t{1} << 31; }),
           "horizon N = 2147483648 is out of range for export");
    refuse(changed([](auto& request) { request.prefix = "9lives"; }), "cannot begin the names");
    refuse(changed([](auto& request) { request.tuning.schedule = "sideways"; }), "sideways");
    refuse(changed([](auto& request) { request.spec.block = 0; }), "block = 0");
    const auto request = gpu_request(small, "sequential");
    CHECK_REFUSED("2 compiled kernels were given for 1 targets", export_gpu_project(request, {{}, {}}));
}

TEST_CASE(EXPORT_BACKEND " export: lists of targets") {
    CHECK(parse_gpu_targets("cuda:sm_87,sm_110") == std::vector<Target>{{Backend::cuda, "sm_87"}, {Backend::cuda, "sm_110"}});
    CHECK(parse_gpu_targets("hip:gfx942") == std::vector<Target>{{Backend::hip, "gfx942"}});
    CHECK(parse_gpu_targets("cuda:sm_87,cuda:sm_90").size() == 2);
    const auto refuse = [](const char* text, const char* message) { CHECK_REFUSED(message, parse_gpu_targets(text)); };
    refuse("cuda:sm_87,hip:gfx942", "mixes cuda and hip");
    refuse("cuda:sm_87,gfx942", "unknown architecture in target 'cuda:gfx942'");
    refuse("cuda:sm_87,sm_87", "names sm_87 twice");
    refuse("cuda:", "unknown architecture");
    refuse("cuda", "unknown architecture");
    refuse("cuda:sm_87,", "unknown architecture");
    refuse("cuda:native", "unknown architecture");
    refuse("hip:gfx000", "give one of hip:gfx906");
}

TEST_CASE(EXPORT_BACKEND " export: what is to be compiled is one image, whatever a Plan would make of it") {
    const auto programs = gpu_export_programs(gpu_request({.block = 3, .horizon = 5}, "auto"));
    REQUIRE(programs.size() == 1);
    CHECK(programs[0].units.size() == 1);
}
