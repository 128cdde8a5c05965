#include "tests/support/cpu/unit.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cfenv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "generator/tridiagonal/mixed.hpp"
#include "generator/tridiagonal/operands.hpp"
#include "tests/support/cpu/library.hpp"

namespace trifold::test {
namespace {

std::shared_ptr<void> compile(const Unit& unit, std::string_view level) {
    const auto command =
        fmt::format("{} {} {} {} -Wall -Wextra -Werror -fPIC -shared", TEST_CC, TEST_CFLAGS, fmt::join(unit.options, " "), level);
    return load_library(command + "\n" + compiler_version(TEST_CC) + unit.source, [&](const std::string& folder) {
        std::ofstream(folder + "/unit.c") << unit.source;
        const auto whole = fmt::format("{} -o {}/unit.so {}/unit.c -lm", command, folder, folder);
        if (std::system(whole.c_str()) != 0) throw std::runtime_error("cannot compile: " + whole);
    });
}

/// Many cases share a unit: each is compiled once a process.
std::shared_ptr<void> compile_once(const Unit& unit, std::string_view level) {
    static std::map<std::string, std::shared_ptr<void>> libraries;
    auto& library = libraries[std::string(level) + unit.source];
    if (!library) library = compile(unit, level);
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

CompiledProgram::CompiledProgram(Choice choice, std::string_view level) : choice_(std::move(choice)), program_(generate(choice_)) {
    for (const auto& unit : program_.units) {
        libraries_.push_back(compile_once(unit, level));
        auto& entries = entries_.emplace_back();
        for (const auto& kernel : unit.kernels)
            entries.push_back(reinterpret_cast<Entry>(dlsym(libraries_.back().get(), kernel.name.c_str())));
    }
    scratch_.resize(static_cast<std::size_t>(program_.scratch_bytes) + workspace_alignment);
}

void CompiledProgram::run(Operation operation, trifold_args args, const Split& split) const {
    auto* const scratch = scratch_.data() + (-reinterpret_cast<std::uintptr_t>(scratch_.data()) & (workspace_alignment - 1));
    const auto all = operands_of(choice_.spec, columns_at_once(choice_), program_.buffers, args);
    std::array<KernelArgs, 3> operands{};
    for (std::size_t k = 0; k < all.size(); ++k) {
        set_sizes(operands[k], program_);
        set_args(operands[k], all[k]);
    }
    std::feclearexcept(FE_ALL_EXCEPT);
    for (const auto& launch : program_.operations.at(std::string(to_string(operation)))) {
        const auto ceil = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
        const auto tasks = launch.grid.groups * ceil(args.members, launch.grid.members_per_group);
        const auto pieces = ceil(tasks, split.tasks_per_call);
        for (std::int64_t k = 0; k < pieces; ++k) {
            const auto piece = split.backwards ? pieces - 1 - k : k;
            const auto first = piece * split.tasks_per_call;
            entries_[launch.unit][launch.kernel](&operands[launch.operands].args, launch.constants.data(), first,
                                                 std::min(tasks, first + split.tasks_per_call), scratch);
        }
    }
    exceptions_ |= std::fetestexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
}

Workspace::Workspace(const Program& program) : memory_(nullptr, &std::free) {
    const auto bytes = static_cast<std::size_t>(program.workspace_bytes + workspace_alignment);
    memory_.reset(static_cast<char*>(std::aligned_alloc(workspace_alignment, bytes / workspace_alignment * workspace_alignment)));
    std::memset(memory_.get(), 0xff, bytes / workspace_alignment * workspace_alignment);
    for (const auto& item : program.buffers) {
        if (item.zeroed) std::memset(memory_.get() + item.offset, 0, static_cast<std::size_t>(item.bytes));
        std::memcpy(memory_.get() + item.offset, item.contents.data(), item.contents.size());
    }
}

}  // namespace trifold::test
