#include "tests/emulator/unit.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <sstream>
#include <stdexcept>

#include "generator/operands.hpp"
#include "tests/emulator/arena.hpp"

namespace trifold::test {
namespace {

/// The unit with the templates' names and lines in front of their texts, for the compiler's messages and the findings.
std::string with_lines(std::string source) {
    for (const auto& entry : std::filesystem::directory_iterator(std::string(TEST_ROOT) + "/templates/device")) {
        std::ostringstream text;
        text << std::ifstream(entry.path()).rdbuf();
        // Its beginning tells: what follows may have been edited.
        if (const auto at = source.find(text.str().substr(0, 100)); at != source.npos)
            source.insert(at, fmt::format("#line 1 \"templates/device/{}\"\n", entry.path().filename().string()));
    }
    return source;
}

/// The unit with its buffers elsewhere in the workspace.
std::string with_offsets(std::string source, const std::vector<Buffer>& buffers) {
    for (const auto& item : buffers) {
        auto define = "#define TRIFOLD_OFFSET_" + item.name + " ";
        std::ranges::transform(define.begin() + 8, define.end(), define.begin() + 8, [](unsigned char c) { return std::toupper(c); });
        const auto at = source.find(define);
        if (at == source.npos) throw std::runtime_error("the unit has no " + define);
        source.replace(at + define.size(), source.find('\n', at) - at - define.size(), std::to_string(item.offset) + "LL");
    }
    return source;
}

/// Where the unit's own data stands.
void ignore_image(void* library, Detector& detector) {
    const link_map* map = nullptr;
    dlinfo(library, RTLD_DI_LINKMAP, &map);
    struct Search {
        ElfW(Addr) base;
        Detector& detector;
    } search{map->l_addr, detector};
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* data) {
            auto& wanted = *static_cast<Search*>(data);
            for (int k = 0; info->dlpi_addr == wanted.base && k < info->dlpi_phnum; ++k) {
                const auto& part = info->dlpi_phdr[k];
                if (part.p_type == PT_LOAD)
                    wanted.detector.ignore(reinterpret_cast<const void*>(wanted.base + part.p_vaddr),
                                           static_cast<std::int64_t>(part.p_memsz));
            }
            return 0;
        },
        &search);
}

/// The launches that have ended before each one of an operation begins.
std::vector<std::set<std::uint32_t>> all_before(const std::vector<Launch>& launches) {
    std::vector<std::set<std::uint32_t>> before(launches.size());
    for (std::size_t k = 0; k < launches.size(); ++k)
        for (const auto other : launches[k].after) {
            before[k].insert(before[other].begin(), before[other].end());
            if (!launches[k].early) before[k].insert(static_cast<std::uint32_t>(other));  // else flags must tell
        }
    return before;
}

/// An order in which the launches may run.
std::vector<std::size_t> choose_order(const std::vector<Launch>& launches, const Running& running) {
    std::vector<std::size_t> waiting(launches.size()), order;
    for (std::size_t k = 0; k < waiting.size(); ++k) waiting[k] = k;
    if (running.order == Order::random) std::ranges::shuffle(waiting, std::mt19937(running.seed));
    if (running.order == Order::reverse) std::ranges::reverse(waiting);
    const auto done = [&](std::size_t k) { return std::ranges::find(order, k) != order.end(); };
    while (!waiting.empty()) {
        const auto next = std::ranges::find_if(waiting, [&](auto k) { return std::ranges::all_of(launches[k].after, done); });
        order.push_back(*next);
        waiting.erase(next);
    }
    return order;
}

}  // namespace

std::shared_ptr<void> compile_unit(const std::string& source, Backend dialect, int lanes, bool watched) {
    auto directory = (std::filesystem::temp_directory_path() / "trifold-emulator-XXXXXX").string();
    if (mkdtemp(directory.data()) == nullptr) throw std::runtime_error("no temporary directory");
    const auto unit = directory + "/unit";
    const bool hip = dialect == Backend::hip;
    // args.h is part of the unit, and guards itself, so that the platform may come first.
    std::ofstream(unit + ".cpp")
        << fmt::format("#define TRIFOLD_WAVE {}\n#include \"{}/generator/trifold/args.h\"\n#include \"{}/tests/emulator/{}.cuh\"\n", lanes,
                       TEST_ROOT, TEST_ROOT, hip ? "amdgcn" : "platform")
        << with_lines(source);
    // HIP's header needs Clang. Watched units are instrumented for the sanitizer of threads, which excludes those of the tests, but linked
    // with our own callbacks. They are not optimized: they spend their time in the detector, and less of it than an optimizer would take.
    const auto* flags = hip ? "-mllvm -tsan-instrument-func-entry-exit=0" : "--param=tsan-instrument-func-entry-exit=0";
    auto command = fmt::format("{} -std=c++20 -w -fPIC -c -o {}.o {}.cpp", hip ? TEST_CLANG : TEST_CXX, unit, unit);
    command += watched ? fmt::format(" -O0 -g1 -gdwarf-4 -fsanitize=thread {}", flags) : fmt::format(" -O1 {}", hip ? "" : TEST_CXXFLAGS);
    command +=
        fmt::format(" && {} {} -shared -o {}.so {}.o {}", TEST_CXX, watched ? "" : TEST_CXXFLAGS, unit, unit, watched ? TEST_ACCESSES : "");
    const bool compiled = std::system(command.c_str()) == 0;
    void* handle = compiled ? dlopen((unit + ".so").c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
    const auto remove = [directory] {
        if (std::getenv("TRIFOLD_KEEP") == nullptr) std::filesystem::remove_all(directory);
    };
    if (handle == nullptr) {
        const char* why = compiled ? dlerror() : "the compiler failed";
        remove();
        throw std::runtime_error(fmt::format("cannot compile or load a unit: {}: {}", why, command));
    }
    // Kept as long as it is loaded: findings read its debug information.
    return {handle, [remove](void* library) {
                dlclose(library);
                remove();
            }};
}

void* find_kernel(void* unit, const std::string& name) { return dlsym(unit, name.c_str()); }

void connect(void* unit, Emulator& emulator) { *static_cast<Emulator**>(dlsym(unit, "emulator")) = &emulator; }

EmulatedUnit::EmulatedUnit(Program program, Build build)
    : program_(std::move(program)),
      build_(build),
      spread_(spread_buffers(program_)),
      library_(compile_unit(build == Build::watched ? with_offsets(program_.source, spread_) : program_.source, program_.target.backend,
                            warp_lanes(program_.target), build == Build::watched)) {
    for (const auto& kernel : program_.kernels) entries_.push_back(reinterpret_cast<Entry>(find_kernel(library_.get(), kernel.name)));
    connect(library_.get(), *emulator_);
}

void EmulatedUnit::run(Operation operation, const trifold_args& args, const Running& running) const {
    if (build_ == Build::plain) return run_launches(operation, args, running, nullptr);
    detector_->begin_operation();
    const Arena arena(program_, spread_, args, *detector_);
    ignore_image(library_.get(), *detector_);
    detector_->ignore(emulator_.get(), sizeof(Emulator));
    run_launches(operation, arena.args(), running, detector_.get());
    arena.copy_back();
}

void EmulatedUnit::run_launches(Operation operation, const trifold_args& args, const Running& running, Detector* detector) const {
    const auto& launches = program_.operations.at(operation);
    const auto order = choose_order(launches, running);
    const auto before = all_before(launches);
    const LaunchArgs all(program_.spec, build_ == Build::watched ? spread_ : program_.buffers, args);
    for (const auto k : order) {
        const auto& launch = launches[k];
        const auto& kernel = program_.kernels[launch.kernel];
        const auto groups = [](std::int64_t work, std::int64_t each) { return (work + each - 1) / each; };
        const auto& launch_args = all[operands_of(program_.spec, operation, kernel.phase)];
        if (detector != nullptr) detector->begin_launch(k, before[k]);
        const Grid grid{groups(launch.level.chains, kernel.shape.chains_per_task), groups(args.members, kernel.shape.members_per_task),
                        kernel.shape.threads, warp_lanes(program_.target), kernel.shape.shared_bytes};
        run_grid(*emulator_, [&, entry = entries_[launch.kernel]] { entry(launch_args, launch.level); }, grid, running, detector);
    }
}

}  // namespace trifold::test
