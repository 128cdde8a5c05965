#include "tests/emulator/unit.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace trifold::test {
namespace {

std::shared_ptr<void> compile(const Program& program) {
    auto directory = (std::filesystem::temp_directory_path() / "trifold-emulator-XXXXXX").string();
    if (mkdtemp(directory.data()) == nullptr) throw std::runtime_error("no temporary directory");
    const auto source = directory + "/unit.cpp", library = directory + "/unit.so";
    // args.h is part of the unit, and guards itself, so that platform.cuh may come first.
    std::ofstream(source) << "#include \"" << TEST_ROOT << "/templates/args.h\"\n#include \"" << TEST_ROOT
                          << "/tests/emulator/platform.cuh\"\n"
                          << program.source;
    const auto command = fmt::format("{} {} -std=c++17 -O1 -w -fPIC -shared -o {} {}", TEST_CXX, TEST_CXXFLAGS, library, source);
    const bool compiled = std::system(command.c_str()) == 0;
    void* handle = compiled ? dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
    if (std::getenv("TRIFOLD_KEEP") == nullptr) std::filesystem::remove_all(directory);
    if (handle == nullptr) throw std::runtime_error("cannot compile or load: " + command);
    return {handle, dlclose};
}

}  // namespace

EmulatedUnit::EmulatedUnit(Program program) : program_(std::move(program)), library_(compile(program_)) {
    for (const auto& kernel : program_.kernels) entries_.push_back(reinterpret_cast<Entry>(dlsym(library_.get(), kernel.name.c_str())));
    *static_cast<Emulator**>(dlsym(library_.get(), "emulator")) = emulator_.get();
}

void EmulatedUnit::run(Operation operation, trifold_args args, Order order) const {
    for (const auto& launch : program_.operations.at(operation)) {
        const auto& kernel = program_.kernels[launch.kernel];
        const auto groups = [](std::int64_t work, std::int64_t each) { return (work + each - 1) / each; };
        auto launch_args = args;
        // A backward sweep that follows a forward one starts from its output.
        if (kernel.phase == Phase::backward && operation != Operation::backward) {
            launch_args.b = args.x;
            launch_args.b_strides = args.x_strides;
        }
        const auto entry = entries_[launch.kernel];
        for (std::int64_t y = 0; y < groups(args.members, kernel.shape.members_per_task); ++y) {
            for (std::int64_t x = 0; x < groups(launch.level.chains, kernel.shape.chains_per_task); ++x) {
                emulator_->group[0] = x;
                emulator_->group[1] = y;
                run_block(*emulator_, [&] { entry(launch_args, launch.level); }, kernel.shape.threads, kernel.shape.shared_bytes, order);
            }
        }
    }
}

}  // namespace trifold::test
