#include "tests/export/gpu/exported.hpp"

#include <cuda.h>
#include <dlfcn.h>

#include <cstdlib>

#include "generator/tridiagonal/design.hpp"

namespace trifold::test {

GpuExportRequest gpu_request(const Spec& spec, const std::string& schedule, const std::string& archs) {
    GpuExportRequest request;
    request.spec = spec;
    request.targets = parse_gpu_targets(std::string(EXPORT_BACKEND ":") + archs);
    request.tuning.schedule = schedule;
    return request;
}

Choice choice_of(const GpuExportRequest& request) {
    return with_literal_sizes(choose(request.spec, request.targets.at(0), request.tuning));
}

std::vector<KernelCode> stand_ins(const GpuExportRequest& request) {
    return {request.targets.size(), KernelCode{"not a binary, but its bytes count", "none", {}}};
}

Library::Library(const GpuExportRequest& request, const std::string& sources) : project_(export_gpu_project(request, stand_ins(request))) {
    project_.write("facts.c",
                   "#include \"btd_solver.h\"\n"
                   "size_t size_of_solver(void) { return sizeof(btd_solver); }\n"
                   "const char* task_of_driver(const btd_solver* solver) { return solver->driver_task; }\n");
    const auto built =
        project_.run(compile("gcc -std=c99 -O1 -shared -fPIC -Dmain=example_main") + "-o solver.so facts.c " + sources + " -lm");
    INFO(built.out);
    REQUIRE(built.status == 0);
    library_ = ::dlopen((project_.path() / "solver.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    REQUIRE(library_ != nullptr);
}

Library::~Library() { ::dlclose(library_); }

void* Library::symbol(const std::string& name) const { return ::dlsym(library_, name.c_str()); }

Scope::Scope() {
    CUcontext context = nullptr;
    cuDevicePrimaryCtxRetain(&context, 0);
    cuCtxPushCurrent(context);
    before_ = fake_cuda();
}

Scope::~Scope() {
    const auto& after = fake_cuda();
    CHECK(after.modules == before_.modules);
    CHECK(after.allocations == before_.allocations);
    CHECK(after.streams == before_.streams);
    CHECK(after.events == before_.events);
    CHECK(after.graphs == before_.graphs);
    CHECK(after.executables == before_.executables);
    CUcontext context = nullptr;
    cuCtxPopCurrent(&context);
    cuDevicePrimaryCtxRelease(0);
    fake_cuda() = {};
}

void Free::operator()(void* memory) const { std::free(memory); }

std::unique_ptr<char, Free> aligned_memory(std::size_t bytes) {
    constexpr std::size_t alignment = 256;
    return std::unique_ptr<char, Free>(static_cast<char*>(std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment)));
}

Exported::Exported(const GpuExportRequest& request) : library_(request), unit_(choice_of(request), EmulatedUnit::Build::plain) {
    fake_cuda().kernels = unit_.handles();
    memory_ = aligned_memory(library_.function<std::size_t()>("size_of_solver")());
    workspace_ = aligned_memory(library_.function<std::size_t()>("btd_workspace_size")());
    REQUIRE(create() == ok);
}

Exported::~Exported() { destroy(); }

std::string Exported::task() {
    const auto* text = library_.function<const char*(const void*)>("task_of_driver")(solver());
    return text == nullptr ? "" : text;
}

}  // namespace trifold::test
