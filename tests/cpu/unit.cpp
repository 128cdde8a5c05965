#include "tests/cpu/unit.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cfenv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "generator/operands.hpp"

namespace trifold::test {
namespace {

/// A directory that goes when the object does.
class TemporaryDirectory {
  public:
    TemporaryDirectory() : path_(std::filesystem::temp_directory_path() / "trifold-test-XXXXXX") {
        if (mkdtemp(path_.data()) == nullptr) throw std::runtime_error("no temporary directory");
    }
    ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
    const std::string& path() const { return path_; }

  private:
    std::string path_;
};

std::shared_ptr<void> compile(const Program& program) {
    const TemporaryDirectory directory;
    const auto source = directory.path() + "/unit.c", library = directory.path() + "/unit.so";
    std::ofstream(source) << program.source;
    // -O1 last: these tests are about results, and it halves the time to compile.
    const auto command = fmt::format("{} {} {} -O1 -Wall -Wextra -Werror -fPIC -shared -o {} {} -lm", TEST_CC, TEST_CFLAGS,
                                     fmt::join(program.options, " "), library, source);
    if (std::system(command.c_str()) != 0) throw std::runtime_error("cannot compile: " + command);
    void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) throw std::runtime_error(dlerror());
    return {handle, dlclose};
}

/// Many cases share a Program: each is compiled once a process.
std::shared_ptr<void> compile_once(const Program& program) {
    static std::map<std::string, std::shared_ptr<void>> libraries;
    auto& library = libraries[program.source];
    if (!library) library = compile(program);
    return library;
}

}  // namespace

Target host_target() {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
        return {Backend::cpu, "x86-64-v4"};
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return {Backend::cpu, "x86-64-v3"};
    return {Backend::cpu, "x86-64"};
#else
    return {Backend::cpu, "armv8-a"};
#endif
}

Unit::Unit(Program program) : program_(std::move(program)), library_(compile_once(program_)) {
    for (const auto& kernel : program_.kernels) entries_.push_back(reinterpret_cast<Entry>(dlsym(library_.get(), kernel.name.c_str())));
    scratch_.resize(static_cast<std::size_t>(program_.variant.scratch_bytes) + workspace_alignment);
}

void Unit::run(Operation operation, trifold_args args, const Split& split) const {
    auto* const scratch = scratch_.data() + (-reinterpret_cast<std::uintptr_t>(scratch_.data()) & (workspace_alignment - 1));
    const LaunchArgs all(program_.spec, program_.buffers, args);
    std::feclearexcept(FE_ALL_EXCEPT);
    for (const auto& launch : program_.operations.at(operation)) {
        const auto& kernel = program_.kernels[launch.kernel];
        const auto ceil = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
        const auto tasks = ceil(launch.level.chains, kernel.shape.chains_per_task) * ceil(args.members, kernel.shape.members_per_task);
        const auto pieces = ceil(tasks, split.tasks_per_call);
        const auto& launch_args = all[operands_of(program_.spec, operation, kernel.phase)];
        for (std::int64_t k = 0; k < pieces; ++k) {
            const auto piece = split.backwards ? pieces - 1 - k : k;
            const auto first = piece * split.tasks_per_call;
            entries_[launch.kernel](&launch_args, &launch.level, first, std::min(tasks, first + split.tasks_per_call), scratch);
        }
    }
    exceptions_ |= std::fetestexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
}

Workspace::Workspace(const Program& program) : memory_(nullptr, &std::free) {
    const auto bytes = static_cast<std::size_t>(program.workspace_bytes + workspace_alignment);
    memory_.reset(static_cast<char*>(std::aligned_alloc(workspace_alignment, bytes / workspace_alignment * workspace_alignment)));
    std::memset(memory_.get(), 0xff, bytes / workspace_alignment * workspace_alignment);
}

}  // namespace trifold::test
