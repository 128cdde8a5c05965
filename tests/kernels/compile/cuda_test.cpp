#include <trifold/binary.hpp>
#include <trifold/generate.hpp>
#include <trifold/grid_spec.hpp>

#include "runtime/compile/compiler.hpp"
#include "runtime/compile/resources.hpp"
#include "tests/support/test.hpp"

using namespace trifold;

namespace {

bool has_nvrtc() {
    ToolReport report;
    const auto compiler = find_nvrtc(report);
    if (compiler != nullptr && compiler->usable()) return true;
    MESSAGE("skipped: no NVRTC");
    return false;
}

/// Shared memory one thread block can have, by the programming guide.
std::int64_t shared_limit(const std::string& arch) {
    if (arch == "sm_75") return 64 * 1024;
    if (arch == "sm_80") return 163 * 1024;
    if (arch == "sm_90" || arch == "sm_100") return 227 * 1024;
    return 99 * 1024;
}

/// All units as a Plan has them compiled: side by side, each once for all tests that ask for it and for later runs.
std::vector<Compiled> compiled(const Program& program) {
    std::vector<Compiled> result;
    for (auto& binary : obtain_all(program)) result.push_back({std::move(binary.code), std::move(binary.log), {}});
    return result;
}

/// Compiles the kernels, and checks what they use.
void check_kernels(const Program& program, bool spills_nothing, std::int64_t most_spilled = 0) {
    const auto all = compiled(program);
    for (std::size_t unit = 0; unit < all.size(); ++unit) {
        const auto& kernels = program.units[unit].kernels;
        const auto resources = resources_of(program.units[unit], all[unit]);
        REQUIRE(resources.size() == kernels.size());
        for (std::size_t k = 0; k < resources.size(); ++k) {
            CAPTURE(kernels[k].name);
            CHECK(resources[k].registers > 0);
            CHECK(resources[k].registers * kernels[k].threads <= 65536);
            CHECK(resources[k].code_bytes > 0);
            if (spills_nothing) CHECK(resources[k].spill_bytes <= most_spilled);
            CHECK(kernels[k].shared_bytes <= shared_limit(program.units[unit].target.arch));
        }
        CHECK(!says(all[unit].log, "warning"));
    }
}

void check_compiles(const Spec& spec, const std::string& arch, const std::string& variant = "auto", std::string schedule = "twisted:3") {
    if (variant == "dataflow") schedule = "multi-stage";
    const auto choice = choose(spec, {Backend::cuda, arch}, {.schedule = schedule, .variant = variant});
    const auto program = generate(choice, Packing::together);  // compiled in less time than apart, and to the same: see below
    const auto& name = choice.variant;
    const auto label = fmt::format("n {} {} m {} {} {}", spec.block, to_string(spec.precision), spec.rhs, arch, name);
    CAPTURE(label);
    const bool is_tile = name == "tile-dataflow" && arch == "sm_90", is_front = name == "dataflow" && (spec.block <= 32 || arch == "sm_90");
    // With blocks of 33 to 48 in f64 three chains share a multiprocessor, which is faster than two that spill nothing.
    const bool is_chain = name == "chains" && !(spec.block > 32 && spec.block <= 48 && spec.precision == Precision::f64);
    const bool spills_nothing =
        name == "fused" || is_chain || (name == "team" && (spec.block <= 16 || (spec.block == 18 && spec.rhs == 1))) || is_front || is_tile;
    // Signs take some registers more, which the launch bounds of positive definite problems do not leave in all kernels.
    check_kernels(program, spills_nothing, spec.matrix == MatrixKind::symmetric ? 200 : 0);
}

Spec spec_of(std::int64_t n, Precision precision, std::int64_t rhs) {
    return {.block = n, .horizon = 20, .precision = precision, .rhs = rhs, .batch = 2, .operations = all_operations()};
}

/// Block sizes for one architecture, precisions and widths alternating.
void check_sizes(const std::string& arch, const std::vector<std::int64_t>& sizes, std::size_t offset) {
    if (!has_nvrtc()) return;
    const std::int64_t widths[] = {1, 3, 8};
    auto k = offset;
    for (const auto n : sizes) {
        check_compiles(spec_of(n, k % 2 == 0 ? Precision::f64 : Precision::f32, widths[k % 3]), arch);
        ++k;
    }
}

}  // namespace

TEST_CASE("a unit has its own kernels, and where all are in one unit that has all") {
    if (!has_nvrtc()) return;
    const Spec spec{.block = 2, .horizon = 3};
    const Target target{Backend::cuda, "sm_90"};
    const auto program = generate(spec, target);
    const auto all = compiled(program);
    REQUIRE(all.size() > 2);
    const auto joined = generate(spec, target, {}, Packing::together);
    const auto whole = elf_functions(compiled(joined).front().bytes);
    for (const auto& owner : program.units)
        for (const auto& kernel : owner.kernels) {
            CAPTURE(kernel.name);
            CHECK(whole.contains(kernel.name));
            for (std::size_t k = 0; k < all.size(); ++k)
                CHECK(elf_functions(all[k].bytes).contains(kernel.name) == (&program.units[k] == &owner));
        }
}

TEST_CASE("kernels are the same apart and together") {
    if (!has_nvrtc()) return;
    const auto resources = [&](const Program& program) {
        std::map<std::string, KernelResources> result;
        const auto all = compiled(program);
        for (std::size_t unit = 0; unit < all.size(); ++unit)
            for (const auto& kernel : resources_of(program.units[unit], all[unit])) result[kernel.kernel] = kernel;
        return result;
    };
    struct Case {
        std::string variant, schedule;
        std::int64_t block;
    };
    for (const auto& [variant, schedule, block] : {Case{"dataflow", "multi-stage", 12},
                                                   {"tile-dataflow", "multi-stage", 33},
                                                   {"fused", "twisted:2", 7},
                                                   {"tiled", "twisted:2", 40},
                                                   {"team", "sequential", 4},
                                                   {"chains", "twisted:2", 20}}) {
        CAPTURE(variant);
        const auto choice = choose({.block = block, .horizon = 20, .operations = {Operation::factor, Operation::backward}},
                                   {Backend::cuda, "sm_90"}, {.schedule = schedule, .variant = variant});
        const auto apart = resources(generate(choice)), together = resources(generate(choice, Packing::together));
        REQUIRE(apart.size() > 1);
        for (const auto& [name, kernel] : apart) {
            CAPTURE(name);
            REQUIRE(together.contains(name));
            CHECK(kernel.registers == together.at(name).registers);
            CHECK(kernel.spill_bytes == together.at(name).spill_bytes);
            CHECK(kernel.code_bytes == together.at(name).code_bytes);
        }
    }
}

TEST_CASE("kernels of general matrices compile, and keep their rows in registers") {
    if (!has_nvrtc()) return;
    const auto check = [](std::int64_t n, Precision precision, std::int64_t rhs, const std::string& schedule, const std::string& arch,
                          const std::string& variant = "auto") {
        CAPTURE(fmt::format("n {} {} m {} {} {}", n, to_string(precision), rhs, schedule, arch));
        const Spec spec{.block = n, .horizon = 20, .precision = precision, .matrix = MatrixKind::general, .rhs = rhs, .batch = 64};
        check_kernels(generate(choose(spec, {Backend::cuda, arch}, {.schedule = schedule, .variant = variant}), Packing::together), true);
    };
    for (const std::int64_t n : {1, 2}) check(n, n == 1 ? Precision::f32 : Precision::f64, 1, "sequential", "sm_90", "getrf-lanes");
    for (const std::int64_t n : {1, 2, 3, 5, 7, 11, 16})
        check(n, n % 3 == 0 ? Precision::f32 : Precision::f64, 1 + n % 4, "sequential", "sm_90");
    check(16, Precision::f64, 1, "sequential", "sm_80");
    check(8, Precision::f64, 1, "twisted:3", "sm_90");
    check(12, Precision::f32, 3, "twisted:3", "sm_75");
    for (const std::int64_t n : {17, 24, 33, 48, 72})  // where fronts are in shared memory
        check(n, n % 3 == 0 ? Precision::f64 : Precision::f32, 1 + n % 2, n == 24 ? "sequential" : "twisted:3", "sm_90");
    check(104, Precision::f32, 8, "twisted:3", "sm_90");
    check(40, Precision::f64, 8, "twisted:3", "sm_80");
    check(28, Precision::f32, 1, "twisted:3", "sm_75");
}

TEST_CASE("NVRTC compiles refinement, and loads of D and E ahead") {
    if (!has_nvrtc()) return;
    for (const auto matrix : {MatrixKind::positive_definite, MatrixKind::symmetric, MatrixKind::general}) {
        Spec spec{.block = 5, .horizon = 9, .matrix = matrix, .operations = {Operation::factor, Operation::refine}};
        check_kernels(generate(spec, parse_target("cuda:sm_90"), {}, Packing::together), true);
        spec.precision = Precision::f32, spec.ring = true, spec.bandwidth = matrix == MatrixKind::general ? 1 : 3;
        check_kernels(generate(spec, parse_target("cuda:sm_90"), {}, Packing::together), true);
    }
    for (const auto precision : {Precision::f32, Precision::f64})
        check_kernels(generate({.block = 130, .horizon = 9, .precision = precision, .operations = {Operation::load, Operation::factor}},
                               parse_target("cuda:sm_90"), {}, Packing::together),
                      true);
}

TEST_CASE("a unit that does not compile is an error of the Program, with its log") {
    if (!has_nvrtc()) return;
    auto program = generate({.block = 2, .horizon = 3}, {Backend::cuda, "sm_90"});
    program.units.at(1).source += "\n#error the second\n";
    try {
        (void)obtain_all(program);
        FAIL("compiled");
    } catch (const CompileError& error) {
        CHECK(says(error.log, "the second"));
        CHECK(says(std::string(error.what()), program.units[1].id));
    }
}

TEST_CASE("NVRTC compiles for sm_80") { check_sizes("sm_80", {1, 12, 33, 48, 100}, 0); }
TEST_CASE("NVRTC compiles for sm_90") { check_sizes("sm_90", {4, 12, 32, 64, 96, 128, 256}, 1); }
TEST_CASE("NVRTC compiles for sm_120") { check_sizes("sm_120", {7, 31, 48, 64}, 0); }

TEST_CASE("NVRTC compiles tiles without spills") {
    if (!has_nvrtc()) return;
    int k = 0;
    for (const auto n : {33, 100, 127, 128, 130, 512})
        for (const auto precision : {Precision::f32, Precision::f64})
            check_compiles(spec_of(n, precision, k++ % 3 == 0 ? 8 : 1), "sm_90", "tile-dataflow", "multi-stage");
}
TEST_CASE("NVRTC compiles the largest blocks and the smallest shared memory") {
    if (!has_nvrtc()) return;
    check_compiles(spec_of(1024, Precision::f64, 1), "sm_75");
    check_compiles(spec_of(100, Precision::f64, 1), "sm_90", "tiled");
    check_compiles(spec_of(48, Precision::f64, 1), "sm_75");
    check_compiles(spec_of(100, Precision::f64, 1), "sm_75", "tile-dataflow");
    check_compiles(spec_of(1024, Precision::f32, 100), "sm_86");
}

TEST_CASE("NVRTC compiles fronts that flow") {
    if (!has_nvrtc()) return;
    check_compiles(spec_of(24, Precision::f64, 1), "sm_80", "dataflow");
    check_compiles(spec_of(32, Precision::f32, 1), "sm_80", "dataflow");
    for (const std::int64_t n : {5, 12, 16, 24, 32}) check_compiles(spec_of(n, Precision::f64, 1), "sm_90", "dataflow");
    for (const std::int64_t n : {40, 56, 72, 88}) check_compiles(spec_of(n, Precision::f64, 1), "sm_90", "dataflow");
    for (const std::int64_t n : {40, 56, 80, 96}) check_compiles(spec_of(n, Precision::f32, 1), "sm_90", "dataflow");
    check_compiles(spec_of(96, Precision::f64, 8), "sm_90", "dataflow");
    check_compiles(spec_of(96, Precision::f32, 3), "sm_80", "dataflow");
}

TEST_CASE("NVRTC compiles fronts of wide levels") {
    if (!has_nvrtc()) return;
    for (const std::int64_t n : {8, 16, 24, 32, 64})
        for (const auto precision : {Precision::f64, Precision::f32})
            check_compiles({.block = n, .horizon = 8192, .precision = precision, .operations = {Operation::factor}}, "sm_90", "dataflow");
    check_compiles({.block = 32, .horizon = 2048, .precision = Precision::f32, .rhs = 8, .operations = {Operation::factor}}, "sm_100",
                   "dataflow");
}

TEST_CASE("NVRTC compiles sweeps and wide levels whose registers are short") {
    if (!has_nvrtc()) return;
    const Operations called{Operation::factor, Operation::solve};
    for (const std::int64_t n : {44, 56})
        for (const auto precision : {Precision::f64, Precision::f32})
            check_compiles({.block = n, .horizon = 4096, .precision = precision, .operations = called}, "sm_90", "dataflow");
    check_compiles({.block = 60, .horizon = 4096, .rhs = 8, .operations = called}, "sm_90", "dataflow");
    check_compiles({.block = 16, .horizon = 2048, .operations = {Operation::factor}}, "sm_90", "dataflow");
    check_compiles(spec_of(24, Precision::f64, 8), "sm_90", "fused");
}

TEST_CASE("NVRTC compiles all kernels of an image without spills") {
    if (!has_nvrtc()) return;
    check_kernels(generate(GridSpec{.width = 513, .height = 513}, {Backend::cuda, "sm_90"}), true);
}

TEST_CASE("NVRTC compiles kernels of teams") {
    if (!has_nvrtc()) return;
    for (const std::int64_t n : {1, 12, 16, 24})
        for (const auto precision : {Precision::f64, Precision::f32})
            check_compiles({.block = n, .horizon = 20, .precision = precision, .rhs = n, .batch = 100}, n == 1 ? "sm_75" : "sm_90", "team",
                           "sequential");
}

TEST_CASE("NVRTC compiles kernels of chains without spills") {
    if (!has_nvrtc()) return;
    for (const std::int64_t n : {17, 24, 32, 40, 48, 64})
        for (const auto precision : {Precision::f64, Precision::f32})
            for (const std::int64_t batch : {100, 2048})
                check_compiles({.block = n, .horizon = 20, .precision = precision, .batch = batch}, "sm_90", "chains",
                               batch == 100 ? "twisted:2" : "sequential");
    check_compiles({.block = 64, .horizon = 20, .batch = 60}, "sm_90", "chains", "twisted:2");
    check_compiles({.block = 28, .horizon = 20, .rhs = 4, .batch = 100}, "sm_100", "chains", "twisted:2");
}

TEST_CASE("NVRTC compiles pivots of both signs with few spills") {
    if (!has_nvrtc()) return;
    const auto check = [](Spec spec, const std::string& variant, const std::string& schedule) {
        spec.matrix = MatrixKind::symmetric;
        check_compiles(spec, "sm_90", variant, schedule);
    };
    for (const std::int64_t n : {17, 32, 48, 64, 88})
        for (const auto precision : {Precision::f64, Precision::f32}) check(spec_of(n, precision, 1), "dataflow", "multi-stage");
    for (const std::int64_t n : {17, 32, 64})
        for (const auto precision : {Precision::f64, Precision::f32})
            check({.block = n, .horizon = 8192, .precision = precision, .operations = {Operation::factor}}, "dataflow", "multi-stage");
    for (const std::int64_t n : {100, 128, 256})
        for (const auto precision : {Precision::f64, Precision::f32}) check(spec_of(n, precision, 1), "tile-dataflow", "multi-stage");
    for (const std::int64_t n : {17, 28, 48, 64})
        for (const auto precision : {Precision::f64, Precision::f32})
            for (const std::int64_t batch : {100, 2048})
                check({.block = n, .horizon = 20, .precision = precision, .batch = batch}, "chains",
                      batch == 100 ? "twisted:2" : "sequential");
}

TEST_CASE("NVRTC compiles teams that have chains") {
    if (!has_nvrtc()) return;
    check_compiles({.block = 1, .horizon = 20}, "sm_80", "team");
    check_compiles({.block = 4, .horizon = 20}, "sm_120", "team");
    for (const std::int64_t n : {4, 8, 16, 18})
        for (const auto precision : {Precision::f64, Precision::f32})
            check_compiles({.block = n, .horizon = 20, .precision = precision}, "sm_90", "team", "recursive:2");
}

TEST_CASE("variants that do not fit or do not exist are refused") {
    CHECK_THROWS_AS(generate(spec_of(97, Precision::f64, 1), {Backend::cuda, "sm_90"}, {.variant = "fused"}), SpecError);
    CHECK_THROWS_AS(generate(spec_of(4, Precision::f64, 1), {Backend::cuda, "sm_90"}, {.variant = "lanes"}), SpecError);
    CHECK(choose(spec_of(88, Precision::f64, 1), {Backend::cuda, "sm_90"}, {.variant = "fused"}).variant == "fused");
    CHECK(choose(spec_of(96, Precision::f64, 1), {Backend::cuda, "sm_90"}, {.variant = "dataflow"}).variant == "dataflow");
    CHECK_THROWS_AS(generate(spec_of(97, Precision::f64, 1), {Backend::cuda, "sm_90"}, {.variant = "dataflow"}), SpecError);
    CHECK(choose(spec_of(97, Precision::f64, 1), {Backend::cuda, "sm_90"}).variant == "tile-dataflow");
    CHECK(choose(spec_of(88, Precision::f64, 1), {Backend::cuda, "sm_120"}).variant == "tile-dataflow");
}
