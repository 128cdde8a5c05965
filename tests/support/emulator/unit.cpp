#include "tests/support/emulator/unit.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>

#include "generator/program/templates.hpp"
#include "generator/tridiagonal/mixed.hpp"
#include "generator/tridiagonal/operands.hpp"
#include "tests/support/cpu/library.hpp"
#include "tests/support/emulator/arena.hpp"
#include "tests/support/emulator/launches.hpp"

namespace trifold::test {
namespace {

/// The unit with #line where the next line is not the next of the same template, for the compiler's messages and the findings.
std::string with_lines(const std::string& source) {
    std::string result;
    TemplateLine last;
    std::istringstream text(source);
    std::string line;
    for (const auto& place : places_of(source)) {
        std::getline(text, line);
        const bool follows = place.file == last.file && place.line == last.line + 1;
        if (!place.file.empty() && !follows) result += fmt::format("#line {} \"{}\"\n", place.line, template_path(place.file));
        result += line + "\n";
        last = place;
    }
    return result;
}

/// The line of a unit that says how its kernels get open sizes, which the text of arguments reads.
std::string sizes_by_value_of(const std::string& source) {
    const auto at = source.find("#define TRIFOLD_SIZES_BY_VALUE ");
    return at == source.npos ? "" : source.substr(at, source.find('\n', at) - at + 1);
}

std::string offset_of(const Buffer& buffer) {
    auto name = "OFFSET_" + buffer.name;
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::toupper(c); });
    return name;
}

/// The Program with its buffers elsewhere in the workspace, as kernels with open sizes see it.
Program with_sizes(Program program, const std::vector<Buffer>& buffers) {
    for (const auto& item : buffers)
        if (const auto place = place_of_open_size(offset_of(item)); place && !program.sizes.empty()) program.sizes[*place] = item.offset;
    return program;
}

/// The unit, if its places are literals, with its buffers elsewhere in the workspace.
std::string with_offsets(std::string source, const std::vector<Buffer>& buffers) {
    for (const auto& item : buffers) {
        const auto define = "#define TRIFOLD_" + offset_of(item) + " ";
        const auto at = source.find(define);
        if (at == source.npos || source[at + define.size()] == '(') continue;  // no kernel of the unit reads this buffer, or it is open
        source.replace(at + define.size(), source.find('\n', at) - at - define.size(), std::to_string(item.offset) + "LL");
    }
    return source;
}

void call_kernel(void* entry, const KernelArgs& args, const trifold_constants& constants, bool sizes_by_value) {
    if (sizes_by_value)
        reinterpret_cast<void (*)(KernelArgs, trifold_constants)>(entry)(args, constants);
    else
        reinterpret_cast<void (*)(trifold_args, trifold_constants)>(entry)(args.args, constants);
}

}  // namespace

std::shared_ptr<void> compile_unit(const std::string& source, Backend dialect, int lanes, bool watched) {
    const bool hip = dialect == Backend::hip;
    // Arguments are part of the unit, and guards itself, so that the platform may come first.
    const auto text = sizes_by_value_of(source) +
                      fmt::format(
                          "#define TRIFOLD_WAVE {}\n#include \"{}/generator/trifold/tridiagonal_args.h\"\n#include "
                          "\"{}/tests/support/emulator/{}.cuh\"\n",
                          lanes, TEST_ROOT, TEST_ROOT, hip ? "amdgcn" : "platform") +
                      with_lines(source);
    // HIP's header needs Clang. Watched units are instrumented for the sanitizer of threads, which excludes those of the tests, but linked
    // with our own callbacks. They are not optimized: they spend their time in the detector, and less of it than an optimizer would take.
    // Without optimization Clang is the faster of the two. It also counts steps: at least one in each turn of a loop that has a
    // way out.
    const auto* compiler = hip || watched ? TEST_CLANG : TEST_CXX;
    const auto* flags = "-O0 -g1 -gdwarf-4 -fsanitize=thread -mllvm -tsan-instrument-func-entry-exit=0 -fsanitize-coverage=edge,trace-pc";
    // Of the standard library units need C's <math.h> alone: C++'s would take a quarter of the compiler's time.
    auto command = fmt::format("{} -std=c++20 -nostdinc++ -w -fPIC -c -o unit.o unit.cpp ", compiler);
    command += watched ? flags : fmt::format("-O1 {}", hip ? "" : TEST_CXXFLAGS);
    command += fmt::format(" && {} {} -shared -o unit.so unit.o {}", TEST_CXX, watched ? "" : TEST_CXXFLAGS, watched ? TEST_ACCESSES : "");
    auto ingredients = command + "\n" + compiler_version(TEST_CXX) + compiler_version(compiler) + text;
    if (watched) ingredients += file_text(TEST_ACCESSES);
    for (const auto* header :
         {"generator/trifold/tridiagonal_args.h", "tests/support/emulator/platform.cuh", "tests/support/emulator/amdgcn.cuh",
          "tests/support/emulator/machine.cuh", "tests/support/emulator/emulator.h"})
        ingredients += file_text(fmt::format("{}/{}", TEST_ROOT, header));
    return load_library(ingredients, [&](const std::string& folder) {
        std::ofstream(folder + "/unit.cpp") << text;
        if (std::system(fmt::format("cd '{}' && {}", folder, command).c_str()) != 0)
            throw std::runtime_error(fmt::format("cannot compile a unit: {}", command));
    });
}

void* find_kernel(void* unit, const std::string& name) { return dlsym(unit, name.c_str()); }

void connect(void* unit, Emulator& emulator) { *static_cast<Emulator**>(dlsym(unit, "emulator")) = &emulator; }

EmulatedUnit::EmulatedUnit(const Choice& choice, Build build) : EmulatedUnit(choice, generate(choice, Packing::together), build) {}

EmulatedUnit::EmulatedUnit(Choice choice, Program program, Build build)
    : choice_(std::move(choice)),
      program_(std::move(program)),
      build_(build),
      spread_(spread_buffers(choice_, program_)),
      spread_sizes_(with_sizes(program_, spread_)) {
    for (const auto& unit : program_.units) {
        const auto source = build == Build::watched ? with_offsets(unit.source, spread_) : unit.source;
        libraries_.push_back(compile_unit(source, unit.target.backend, warp_lanes(unit.target), build == Build::watched));
        auto* library = libraries_.back().get();
        auto& entries = entries_.emplace_back();
        for (const auto& kernel : unit.kernels) entries.push_back(find_kernel(library, kernel.name));
        connect(library, *emulator_);
    }
}

std::vector<void*> EmulatedUnit::handles() const {
    std::vector<void*> result;
    for (const auto& library : libraries_) result.push_back(library.get());
    return result;
}

void EmulatedUnit::run(Operation operation, const trifold_args& args, const Running& running) const {
    if (build_ == Build::plain) return run_launches(operation, args, running, nullptr);
    detector_->begin_operation();
    const Arena arena(choice_, program_, spread_, args, *detector_);
    for (const auto& library : libraries_) ignore_image(library.get(), *detector_);
    detector_->ignore(emulator_.get(), sizeof(Emulator));
    run_launches(operation, arena.args(), running, detector_.get());
    arena.copy_back();
}

void EmulatedUnit::run_launches(Operation operation, const trifold_args& args, const Running& running, Detector* detector) const {
    const auto& launches = program_.operations.at(std::string(to_string(operation)));
    const auto order = choose_order(launches, running);
    const auto before = all_before(launches);
    const auto all = operands_of(choice_.spec, columns_at_once(choice_), build_ == Build::watched ? spread_ : program_.buffers, args);
    for (const auto k : order) {
        const auto& launch = launches[k];
        const auto& kernel = kernel_of(program_, launch);
        const auto members = (args.members + launch.grid.members_per_group - 1) / launch.grid.members_per_group;
        if (detector != nullptr) detector->begin_launch(k, before[k]);
        const auto& target = program_.units[launch.unit].target;
        const Grid grid{launch.grid.groups, members, kernel.threads, warp_lanes(target), kernel.shared_bytes};
        trifold_constants constants;
        std::memcpy(&constants, launch.constants.data(), sizeof constants);
        KernelArgs operand{};
        set_sizes(operand, build_ == Build::watched ? spread_sizes_ : program_);
        set_args(operand, all[launch.operands]);
        auto* const entry = entries_[launch.unit][launch.kernel];
        run_grid(*emulator_, [&] { call_kernel(entry, operand, constants, takes_sizes_by_value(program_)); }, grid, running, detector);
    }
}

}  // namespace trifold::test
