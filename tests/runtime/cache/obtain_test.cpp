// The path from a Program to its Binary: keys, stale compilers, layers of kernels, and the switches.
#include <fcntl.h>
#include <unistd.h>

#include <trifold/plan.hpp>

#include "runtime/base/log.hpp"
#include "runtime/base/switches.hpp"
#include "runtime/compile/cache.hpp"
#include "runtime/compile/compiler.hpp"
#include "runtime/compile/environment.hpp"
#include "runtime/device/gpu.hpp"
#include "tests/runtime/cache/unit.hpp"
#include "tests/support/test.hpp"

using namespace trifold;
using namespace trifold::test;
namespace fs = std::filesystem;

namespace {

struct Fixture {
    PrivateDirectory directory;
    fs::path root = directory.path() / "cache";
    WithEnvironment environment{{"TRIFOLD_CACHE_DIR", root.c_str()},
                                {"TRIFOLD_LOG", "off"},
                                {"TRIFOLD_BINARIES", nullptr},
                                {"TRIFOLD_DISABLE", nullptr},
                                {"TRIFOLD_DUMP", nullptr},
                                {"TRIFOLD_DUMP_DIR", nullptr},
                                {"TRIFOLD_CC", nullptr},
                                {"TRIFOLD_EXTERNAL_SOURCE", nullptr}};
    // A source that this process has not met, so that its memory does not know it.
    Unit unit = cpu_unit(next_number()++);

    static int& next_number() {
        static int number = 1000;
        return number;
    }
    /// An entry for `program` in `place`, of real code, said to be made by `compiler`.
    void ship(const fs::path& place, const std::string& compiler) const {
        const WithEnvironment elsewhere{{"TRIFOLD_CACHE_DIR", (directory.path() / "elsewhere").c_str()}};
        const auto made = find_compiler({Backend::cpu});
        const auto compiled = made->compile(unit.source, unit.options);
        std::vector<KernelResources> kernels;
        for (const auto& kernel : unit.kernels) kernels.push_back({kernel.name, -1, -1, -1, 1});
        Cache(place).publish({compiled.bytes, compiler.empty() ? made->identity() : compiler, "a log", kernels, cache_key(unit)}, unit,
                             Parts::kernels);
    }
};

double run(const Unit& unit, const Binary& binary) {
    double sum = 0;
    reinterpret_cast<void (*)(double*)>(HostModule(binary).symbol(unit.kernels[0].name))(&sum);
    return sum;
}

}  // namespace

TEST_CASE("keys: everything that changes the code changes the key, and parts do not run into each other") {
    std::set<std::string> keys;
    const auto add = [&](auto change) {
        auto unit = cpu_unit();
        change(unit);
        CHECK(keys.insert(cache_key(unit)).second);
    };
    add([](Unit&) {});
    add([](Unit& p) { p.source += " "; });
    add([](Unit& p) { p.options = {"-O3"}; });
    add([](Unit& p) { p.options = {"-march=x86-64-v2", "-O3"}; });
    add([](Unit& p) { p.options = {"-O3 -march=x86-64-v2"}; });
    add([](Unit& p) { p.target.arch = "x86-64-v3"; });
    add([](Unit& p) { p.target = {Backend::cuda, "sm_90"}; });
    add([](Unit& p) { p.source.clear(); });
    for (const auto& key : keys) CHECK(key.size() == 64);
    // What does not change the code does not change the key.
    auto unit = cpu_unit();
    unit.id = "another name";
    unit.kernels.clear();
    CHECK(cache_key(unit) == cache_key(cpu_unit()));
}

TEST_CASE_FIXTURE(Fixture, "obtain compiles once, the second time is a hit") {
    const auto first = obtain(unit);
    CHECK_FALSE(first.cache_hit);
    CHECK(first.compile_seconds > 0);
    CHECK(first.compiler == find_compiler({Backend::cpu})->identity());
    REQUIRE(first.kernels.size() == 2);
    CHECK(first.kernels[0].kernel == unit.kernels[0].name);
    CHECK(first.kernels[0].code_bytes > 0);
    const auto second = obtain(unit);
    CHECK(second.cache_hit);
    CHECK(second.compile_seconds == 0);
    CHECK(second.code == first.code);
    CHECK(run(unit, first) == run(unit, second));
    CHECK(Cache(root).list().size() == 1);
    CHECK(Cache(root).list()[0].name == "btd_n4_f64_x8664v2_0badf00d");
}

TEST_CASE_FIXTURE(Fixture, "threads at once: one compiles, all get it, different Programs do not wait for each other's result") {
    const auto other = cpu_unit(next_number()++);
    std::vector<Binary> binaries(8);
    std::vector<std::thread> threads;
    for (std::size_t k = 0; k < binaries.size(); ++k) threads.emplace_back([&, k] { binaries[k] = obtain(k % 2 == 0 ? unit : other); });
    for (auto& thread : threads) thread.join();
    CHECK(std::ranges::count(binaries, false, &Binary::cache_hit) == 2);
    for (std::size_t k = 0; k < binaries.size(); ++k) CHECK(binaries[k].code == binaries[k % 2].code);
    CHECK(run(unit, binaries[0]) != run(other, binaries[1]));
}

TEST_CASE_FIXTURE(Fixture, "threads at once, and it does not compile: each gets the error") {
    unit.source = "int broken(void) { return missing_thing" + std::to_string(next_number()++) + "; }\n";
    std::atomic<int> errors = 0;
    std::vector<std::thread> threads;
    for (int k = 0; k < 6; ++k) {
        threads.emplace_back([&] {
            try {
                (void)obtain(unit);
            } catch (const CompileError&) {
                ++errors;
            }
        });
    }
    for (auto& thread : threads) thread.join();
    CHECK(errors == 6);
}

TEST_CASE_FIXTURE(Fixture, "an entry of another compiler is made anew where one is installed, and serves where none is") {
    ship(root, "clang 1.0");
    SUBCASE("installed") {
        const auto binary = obtain(unit);
        CHECK_FALSE(binary.cache_hit);
        CHECK(Cache(root).find(binary.key)->compiler == binary.compiler);
    }
    SUBCASE("the same") {
        Cache(root).clear();
        ship(root, "");
        CHECK(obtain(unit).cache_hit);
    }
    SUBCASE("none installed") {
        const WithEnvironment bare{{"TRIFOLD_CC", "/nonexistent/cc"}};
        const auto binary = obtain(unit);
        CHECK(binary.cache_hit);
        CHECK(binary.compiler == "clang 1.0");
        CHECK(run(unit, binary) > sum_of_squares);
        CHECK_THROWS_WITH_AS((void)obtain(cpu_unit(next_number()++)), doctest::Contains("TRIFOLD_CC"), DeviceError);
    }
    SUBCASE("forbidden to compile") {
        const WithEnvironment deployed{{"TRIFOLD_DISABLE", "jit"}};
        CHECK(obtain(unit).compiler == "clang 1.0");
    }
}

TEST_CASE_FIXTURE(Fixture, "TRIFOLD_DISABLE=jit makes a missing kernel an error that names it") {
    const WithEnvironment deployed{{"TRIFOLD_DISABLE", "cache,jit"}};
    try {
        (void)obtain(unit);
        FAIL("compiled");
    } catch (const CacheError& error) {
        const std::string text = error.what();
        for (const std::string& part : {std::string("btd_n4_f64_x8664v2_0badf00d"), std::string("cpu:x86-64-v2"),
                                        std::string("TRIFOLD_DISABLE=jit"), cache_key(unit)})
            CHECK(says(text, part));
    }
}

TEST_CASE_FIXTURE(Fixture, "TRIFOLD_DISABLE=cache touches no directory") {
    const WithEnvironment disabled{{"TRIFOLD_DISABLE", "cache"}};
    CHECK_FALSE(obtain(unit).cache_hit);
    CHECK_FALSE(obtain(unit).cache_hit);
    CHECK_FALSE(fs::exists(root));
}

TEST_CASE_FIXTURE(Fixture, "a layer of kernels is only read") {
    const auto place = directory.path() / "layer";
    ship(place, "");
    const WithEnvironment with{{"TRIFOLD_BINARIES", place.c_str()}, {"TRIFOLD_DISABLE", "jit"}};
    const auto entry = place / cache_key(unit).substr(0, 2) / cache_key(unit);
    SUBCASE("found") {
        const auto stamp = fs::last_write_time(entry);
        const auto binary = obtain(unit);
        CHECK(binary.cache_hit);
        CHECK(binary.prebuilt);
        CHECK(binary.log.empty());
        CHECK_FALSE(fs::exists(entry / "kernel.c"));
        CHECK(run(unit, binary) == run(unit, obtain(unit)));
        CHECK(fs::last_write_time(entry) == stamp);
    }
    SUBCASE("damaged") {
        write_file(entry / "kernel.so", "rubbish");
        CHECK_THROWS_AS((void)obtain(unit), CacheError);
        CHECK(fs::exists(entry));
        CHECK_FALSE(fs::exists(place / "bad"));
    }
    SUBCASE("in a place that others may write to") {
        fs::permissions(place, fs::perms::all);
        CHECK_THROWS_AS((void)obtain(unit), CacheError);
    }
    SUBCASE("missing") {
        const WithEnvironment gone{{"TRIFOLD_BINARIES", "/nonexistent"}};
        CHECK_THROWS_AS((void)obtain(unit), CacheError);
    }
    SUBCASE("second of two") {
        const WithEnvironment both{{"TRIFOLD_BINARIES", ("/nonexistent::" + place.string()).c_str()}};
        CHECK(obtain(unit).prebuilt);
    }
}

TEST_CASE_FIXTURE(Fixture, "layers come before the cache, whichever compiler made them") {
    const auto first = obtain(unit);
    CHECK_FALSE(first.prebuilt);
    const auto named = directory.path() / "named", added = directory.path() / "added";
    ship(added, "another compiler 1.0");
    const WithEnvironment forgetful{{"TRIFOLD_DISABLE", "cache"}};  // so that the memory of this process is not asked
    CHECK_FALSE(obtain(unit).prebuilt);
    add_layer(added);
    add_layer(added);
    CHECK(std::ranges::count(Cache::layers(), fs::path(added), &Cache::path) == 1);
    CHECK(obtain(unit).compiler == "another compiler 1.0");
    CHECK(obtain(unit).prebuilt);
    ship(named, "a third compiler 2.0");
    const WithEnvironment with{{"TRIFOLD_BINARIES", named.c_str()}};
    CHECK(obtain(unit).compiler == "a third compiler 2.0");
}

TEST_CASE_FIXTURE(Fixture, "a source that does not compile: an error with everything one needs, and nothing published") {
    unit.source = "int broken(void) { return missing_thing; }\n";
    try {
        (void)obtain(unit);
        FAIL("compiled");
    } catch (const CompileError& error) {
        CHECK(says(error.log, "missing_thing"));
        const std::string text = error.what();
        CHECK(says(text, "-march=x86-64-v2", find_compiler({Backend::cpu})->identity()));
        const auto kept = root / "dump" / "btd_n4_f64_x8664v2_0badf00d.c";
        CHECK(says(text, kept.string()));
        CHECK(read_file(kept) == unit.source);
    }
    CHECK(Cache(root).list().empty());
    CHECK_THROWS_AS((void)obtain(unit), CompileError);  // failures are not remembered as successes
}

TEST_CASE_FIXTURE(Fixture, "a unit without its kernels is not published") {
    unit.source = "int other_name;\n";
    CHECK_THROWS_WITH_AS((void)obtain(unit), doctest::Contains("btd_factor_n4_f64_x8664v2_0badf00d"), CompileError);
    CHECK(Cache(root).list().empty());
}

TEST_CASE_FIXTURE(Fixture, "a hand-edited source takes the place of the generated one") {
    const auto file = directory.path() / "edited.c";
    const auto edited = cpu_unit(next_number() + 500000);
    write_file(file, edited.source);
    const auto original = obtain(unit);
    {
        const WithEnvironment with{{"TRIFOLD_EXTERNAL_SOURCE", file.c_str()}};
        const auto binary = obtain(unit);
        CHECK(binary.key == cache_key(edited));
        CHECK(run(unit, binary) == run(edited, obtain(edited)));
        CHECK(run(unit, binary) != run(unit, original));
    }
    // One for another unit is left alone, unless it is for none of a Program's.
    auto other = unit;
    other.id = "btd_other";
    other.kernels = {{"btd_other_kernel"}};
    other.source = "void btd_other_kernel(void) {}\n";
    Program program;
    program.units = {other};
    {
        const WithEnvironment with{{"TRIFOLD_EXTERNAL_SOURCE", file.c_str()}};
        CHECK(obtain(other).key == cache_key(other));
        CHECK_REFUSED("its units are btd_other", obtain_all(program));
        program.units.push_back(unit);
        const auto binaries = obtain_all(program);
        REQUIRE(binaries.size() == 2);
        CHECK(binaries[0].key == cache_key(other));
        CHECK(binaries[1].key == cache_key(edited));
    }
    // A directory has a file for each unit, by its name.
    const auto edits = directory.path() / "edits";
    fs::create_directory(edits);
    {
        const WithEnvironment with{{"TRIFOLD_EXTERNAL_SOURCE", edits.c_str()}};
        CHECK_REFUSED("its units are btd_other", obtain_all(program));
        write_file(edits / (unit.id + ".c"), edited.source);
        const auto binaries = obtain_all(program);
        CHECK(binaries[0].key == cache_key(other));
        CHECK(binaries[1].key == cache_key(edited));
    }
    const WithEnvironment absent{{"TRIFOLD_EXTERNAL_SOURCE", "/nonexistent.c"}};
    CHECK_REFUSED("/nonexistent.c", obtain(unit));
    CHECK_REFUSED("/nonexistent.c", obtain_all(program));
}

TEST_CASE_FIXTURE(Fixture, "dumps") {
    const auto place = directory.path() / "dumps";
    const WithEnvironment with{{"TRIFOLD_DUMP", "source,log,keys,sass"}, {"TRIFOLD_DUMP_DIR", place.c_str()}};
    const auto binary = obtain(unit);
    const auto name = place / "btd_n4_f64_x8664v2_0badf00d";
    CHECK(read_file(name.string() + ".c") == unit.source);
    CHECK(fs::exists(name.string() + ".log"));
    CHECK(read_file(name.string() + ".key")->find(binary.key) != std::string::npos);
    if (!find_executable("objdump").empty()) CHECK(read_file(name.string() + ".sass")->find("ret") != std::string::npos);
    const WithEnvironment nowhere{{"TRIFOLD_DUMP_DIR", "/proc/trifold"}};
    CHECK_NOTHROW((void)obtain(unit));
}

TEST_CASE_FIXTURE(Fixture, "without a cache the source that failed is kept in a private directory") {
    const WithEnvironment none{{"TRIFOLD_DISABLE", "cache"}, {"TMPDIR", directory.path().c_str()}};
    unit.source = "int broken(void) { return missing_thing; }\n";
    try {
        (void)obtain(unit);
        FAIL("compiled");
    } catch (const CompileError& error) {
        const std::string text = error.what();
        const auto start = text.find(directory.path().string());
        REQUIRE(start != std::string::npos);
        CHECK(read_file(text.substr(start, text.find('\n', start) - start)) == unit.source);
    }
}

TEST_CASE_FIXTURE(Fixture, "a CUDA unit: a cubin, what ptxas says, and PTX on request") {
    ToolReport report;
    if (!find_nvrtc(report)) {
        MESSAGE("skipped: no NVRTC; " << report.advice);
        return;
    }
    const auto place = directory.path() / "dumps";
    const auto cuda = cuda_unit();
    const auto first = obtain(cuda);
    CHECK_FALSE(first.cache_hit);
    CHECK(first.kernels[0].registers > 0);
    CHECK(read_file(root / first.key.substr(0, 2) / first.key / "kernel.cubin") == first.code);
    CHECK(read_file(root / first.key.substr(0, 2) / first.key / "kernel.cu") == cuda.source);
    CHECK(Cache(root).find(first.key)->kernels == first.kernels);
    CHECK(obtain(cuda).cache_hit);
    const WithEnvironment with{{"TRIFOLD_DUMP", "ptx"}, {"TRIFOLD_DUMP_DIR", place.c_str()}};
    CHECK_FALSE(obtain(cuda).cache_hit);  // PTX is not kept
    CHECK(read_file(place / "btd_n4_f64_sm90_0badf00d.ptx")->find(".target sm_90") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "a host module refuses what is not a shared object, and several live side by side") {
    CHECK_THROWS_AS(HostModule(Binary{{"not a library"}, "toy"}), CompileError);
    CHECK_THROWS_AS(HostModule(Binary{{""}, "toy"}), CompileError);
    const auto other = cpu_unit(next_number()++);
    const auto first = obtain(unit), second = obtain(other);
    const HostModule a(first), b(second);
    double x = 0, y = 0;
    reinterpret_cast<void (*)(double*)>(a.symbol(unit.kernels[0].name))(&x);
    reinterpret_cast<void (*)(double*)>(b.symbol(other.kernels[0].name))(&y);
    CHECK(y - x == next_number() - 1 - std::stoi(unit.source.substr(unit.source.find("sum = ") + 6)));
}

TEST_CASE_FIXTURE(Fixture, "what doctor reports") {
    (void)obtain(unit);
    const auto environment_report = probe_environment();
    REQUIRE(environment_report.tools.size() == 5);
    for (const auto& tool : environment_report.tools) {
        CAPTURE(tool.name);
        CHECK(tool.found == tool.advice.empty());
        CHECK((!tool.found || !tool.version.empty()));
    }
    CHECK(environment_report.cache.path == root);
    CHECK(environment_report.cache.from == "TRIFOLD_CACHE_DIR");
    CHECK(environment_report.cache.writable);
    CHECK(environment_report.cache.entries == 1);
    CHECK(environment_report.cache.bytes > 0);
    CHECK(environment_report.cache.limit_bytes == std::int64_t{1} << 30);
    CHECK(environment_report.cache.problem.empty());
    const WithEnvironment bound{{"TRIFOLD_CACHE_SIZE", "2.5M"}};
    CHECK(Cache::from_environment().limit() == 2621440);
    for (const auto* bad : {"many", "-1", "1T", "1e99", "M"}) {
        const WithEnvironment nonsense{{"TRIFOLD_CACHE_SIZE", bad}};
        CHECK(Cache::from_environment().limit() == std::int64_t{1} << 30);
    }
}

TEST_CASE("docs/users/switches.md has the table of switches word for word, and names no other") {
    const auto page = read_file(fs::path(TRIFOLD_SOURCE) / "docs/users/switches.md").value_or("");
    std::vector<std::string> rows, expected;
    for (std::size_t at = page.find("| `TRIFOLD_"); at != std::string::npos; at = page.find("| `TRIFOLD_", at + 1)) {
        auto row = page.substr(at, page.find('\n', at) - at);
        std::erase(row, '`');
        rows.push_back(row);
    }
    for (const auto& entry : switches()) expected.push_back(fmt::format("| {} | {} | {} |", entry.name, entry.values, entry.meaning));
    CHECK(rows == expected);
    for (auto at = page.find("TRIFOLD_"); at != std::string::npos; at = page.find("TRIFOLD_", at + 1)) {
        const auto name = page.substr(at, page.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_", at) - at);
        CAPTURE(name);
        CHECK(std::ranges::any_of(switches(), [&](const Switch& entry) { return entry.name == name; }));
    }
}

TEST_CASE_FIXTURE(Fixture, "a word of TRIFOLD_DISABLE that is not known is an error where a Plan is made") {
    for (const std::string value : {"JIT", "jit cache", "jit, cache", "jit;cache", "jit,cahce", "jits"}) {
        const WithEnvironment with{{"TRIFOLD_DISABLE", value.c_str()}};
        const auto word = value == "jit, cache" ? " cache" : value == "jit,cahce" ? "cahce" : value;
        CHECK_REFUSED(fmt::format("TRIFOLD_DISABLE='{}' holds '{}', which is not known; give some of jit, cache, "
                                  "clang, hiprtc, graph, wisdom, in small letters, separated by commas alone",
                                  value, word)
                          .c_str(),
                      Plan({.block = 2, .horizon = 2}, Device::cpu()));
    }
    for (const auto* value : {"", ",", "graph", "jit,,cache,", "jit,cache,clang,hiprtc,graph"}) {
        const WithEnvironment with{{"TRIFOLD_DISABLE", value}};
        CHECK_NOTHROW(check_switches());
    }
}

TEST_CASE_FIXTURE(Fixture, "other switches with a value or a name that is not known are told once") {
    const auto log = directory.path() / "log";
    {
        const WithEnvironment with{{"TRIFOLD_LOG", fmt::format("warning:{}", log.string()).c_str()},
                                   {"TRIFOLD_DUMP", "keys,foo"},
                                   {"TRIFOLD_DUMP_DIR", directory.path().c_str()},
                                   {"TRIFOLD_CC", "no-such-compiler"},
                                   {"TRIFOLD_CLANG", "/nowhere/clang.so"},
                                   {"TRIFOLD_NVRTC", "/nowhere/nvrtc"},
                                   {"TRIFOLD_HIPRTC", "nowhere-hiprtc"},
                                   {"TRIFOLD_PEERS", "/:/nowhere/peers"},
                                   {"TRIFOLD_DISABLED", "jit"},
                                   {"TRIFOLD_CACHEDIR", "x"},
                                   {"TRIFOLD_LGO", "off"},
                                   {"TRIFOLD_CI", "1"},          // of others, perhaps
                                   {"TRIFOLD_FLAVOUR", "mint"},  // so too
                                   {"TRIFOLDER", "x"}};
        for (int call = 0; call < 2; ++call) check_switches();
    }
    const auto said = read_file(log).value_or("");
    INFO(said);
    CHECK(std::ranges::count(said, '\n') == 9);
    for (const auto* text :
         {"TRIFOLD_DUMP='keys,foo' holds 'foo', which is not known; give some of source, ptx, sass, log, keys",
          "TRIFOLD_CC names 'no-such-compiler', which is no program", "TRIFOLD_CLANG names '/nowhere/clang.so'",
          "TRIFOLD_NVRTC names '/nowhere/nvrtc'", "TRIFOLD_HIPRTC names 'nowhere-hiprtc'", "TRIFOLD_PEERS names '/nowhere/peers'",
          "TRIFOLD_DISABLED is not known and does nothing; did you mean TRIFOLD_DISABLE?", "did you mean TRIFOLD_CACHE_DIR?",
          "did you mean TRIFOLD_LOG?"})
        CHECK(says(said, text));
    {
        const WithEnvironment with{{"TRIFOLD_LOG", fmt::format("loud:{}", log.string()).c_str()}};
        check_switches();
    }
    CHECK(says(read_file(log).value_or(""), "is no level; give off, error, warning, info, debug"));
}

TEST_CASE_FIXTURE(Fixture, "with standard error closed messages are lost, and no file of ours takes its place") {
    const WithEnvironment loud{{"TRIFOLD_LOG", "debug"}};
    const int kept = ::dup(STDERR_FILENO);
    ::close(STDERR_FILENO);
    int taken = -1;
    {
        const auto file = open_to_write(directory.path() / "file", O_WRONLY);
        taken = file.get();
        log(LogLevel::error, "nobody reads this");
    }
    const bool free = ::fcntl(STDERR_FILENO, F_GETFD) == -1;
    ::dup2(kept, STDERR_FILENO);
    ::close(kept);
    CHECK(taken > STDERR_FILENO);
    CHECK(free);
    CHECK(read_file(directory.path() / "file") == "");
}

TEST_CASE_FIXTURE(Fixture, "a GPU is looked for where a node or a driver of the kernel shows one") {
    const auto machine = directory.path() / "machine";
    const auto found = [&](const std::string& file) {
        fs::create_directories((machine / file).parent_path());
        std::ofstream(machine / file) << "";
        const auto cuda = gpu::may_have_device(Backend::cuda, machine), hip = gpu::may_have_device(Backend::hip, machine);
        fs::remove_all(machine);
        return std::string(cuda ? "cuda" : "") + (hip ? "hip" : "");
    };
    CHECK_FALSE(gpu::may_have_device(Backend::cuda, machine));  // not even a /dev
    CHECK(found("dev/null").empty());
    CHECK(found("dev/nvme0").empty());
    for (const auto* node : {"nvidiactl", "nvidia0", "nvhost-ctrl-gpu", "nvgpu/igpu0", "nvmap"})
        CHECK(found(fmt::format("dev/{}", node)) == "cuda");
    CHECK(found("dev/kfd") == "hip");
    CHECK(found("dev/dxg") == "cudahip");
    CHECK(found("proc/driver/nvidia/version") == "cuda");
}
