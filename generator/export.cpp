#include "generator/export.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>

#include "generator/backend.hpp"
#include "generator/cost.hpp"
#include "generator/error.hpp"
#include "generator/export_parts.hpp"

namespace trifold {
namespace {

constexpr std::string_view qemu_m4 =
    "qemu-system-arm -M mps2-an386 -display none -serial none -monitor none -semihosting-config enable=on,target=native -icount shift=0 "
    "-kernel";
constexpr std::string_view qemu_m7 =
    "qemu-system-arm -M mps2-an500 -display none -serial none -monitor none -semihosting-config enable=on,target=native -icount shift=0 "
    "-kernel";

constexpr std::array machines{Machine{.arch = "generic",
                                      .compiler = "cc",
                                      .flags = "-std=c99 -Wpedantic",
                                      .size = "size",
                                      .contract = "off",
                                      .stack_bytes = {1280, 1280},
                                      .code_bytes = {8192, 8192},
                                      .report = "host"},
                              Machine{.arch = "cortex-m4",
                                      .compiler = "arm-none-eabi-gcc",
                                      .flags = "-std=c99 -Wpedantic -mcpu=cortex-m4 -mthumb -mfpu=fpv4-sp-d16 -mfloat-abi=hard",
                                      .link = " --specs=rdimon.specs -T cortex_m.ld",
                                      .run = qemu_m4,
                                      .size = "arm-none-eabi-size",
                                      .contract = "fast",
                                      .stack_bytes = {512, 1024},
                                      .code_bytes = {4096, 4096},
                                      .report = "cortex_m"},
                              Machine{.arch = "cortex-m7",
                                      .compiler = "arm-none-eabi-gcc",
                                      .flags = "-std=c99 -Wpedantic -mcpu=cortex-m7 -mthumb -mfpu=fpv5-d16 -mfloat-abi=hard",
                                      .link = " --specs=rdimon.specs -T cortex_m.ld",
                                      .run = qemu_m7,
                                      .size = "arm-none-eabi-size",
                                      .contract = "fast",
                                      .stack_bytes = {512, 768},
                                      .code_bytes = {4096, 4096},
                                      .report = "cortex_m"},
                              Machine{.arch = "neon",
                                      .compiler = "aarch64-linux-gnu-gcc",
                                      .flags = "-std=gnu11 -march=armv8-a",
                                      .link = " -static",
                                      .run = "qemu-aarch64",
                                      .size = "aarch64-linux-gnu-size",
                                      .contract = "fast",
                                      .stack_bytes = {4096, 4096},
                                      .code_bytes = {32768, 32768},
                                      .kernels = "armv8-a"},
                              Machine{.arch = "avx2",
                                      .compiler = "cc",
                                      .flags = "-std=gnu11 -march=x86-64-v3",
                                      .size = "size",
                                      .contract = "fast",
                                      .stack_bytes = {6144, 6144},
                                      .code_bytes = {40960, 40960},
                                      .kernels = "x86-64-v3",
                                      .report = "host"},
                              Machine{.arch = "avx512",
                                      .compiler = "cc",
                                      .flags = "-std=gnu11 -march=x86-64-v4 -mprefer-vector-width=512 -Wno-aggressive-loop-optimizations",
                                      .size = "size",
                                      .contract = "fast",
                                      .stack_bytes = {9216, 9216},
                                      .code_bytes = {61440, 61440},
                                      .kernels = "x86-64-v4"}};

bool is_identifier(std::string_view text) {
    const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    const auto inner = [&](char c) { return letter(c) || c == '_' || (c >= '0' && c <= '9'); };
    return !text.empty() && text.size() <= 32 && letter(text.front()) && std::ranges::all_of(text, inner);
}

void check_layout(const Spec& spec) {
    Spec plain{.block = spec.block, .horizon = spec.horizon, .precision = spec.precision, .rhs = spec.rhs, .operations = spec.operations};
    if (spec == plain) return;
    throw SpecError(
        "an exported solver takes one system, dense and row-major, with the lower coupling; leave batch, order, coupling and strides out");
}

void check_data(const ExportRequest& request) {
    if (!request.data) return;
    const auto& spec = request.spec;
    const auto blocks = spec.block * spec.block;
    const std::array wanted{spec.horizon * blocks, (spec.horizon - 1) * blocks, spec.horizon * spec.block * spec.rhs};
    const std::array given{std::ssize(request.data->d), std::ssize(request.data->e), std::ssize(request.data->b)};
    for (std::size_t k = 0; k < wanted.size(); ++k)
        if (given[k] != wanted[k])
            throw SpecError(fmt::format("the problem to bake in has {} elements of {}; {} blocks of {} with {} right-hand side(s) have {}",
                                        given[k], "DEB"[k], spec.horizon, spec.block, spec.rhs, wanted[k]));
}

void check(const ExportRequest& request) {
    const auto& spec = request.spec;
    validate(spec);
    validate(request.target);
    machine_of(request.target);
    check_layout(spec);
    if (spec.block > max_export_block)
        throw SpecError(fmt::format("block size n = {} is out of range for export; give 1 to {}", spec.block, max_export_block));
    check_prefix(request.prefix);
    const auto bytes = export_facts(request).workspace_bytes_64;
    const auto vector = checked_multiply(spec.horizon * spec.block, spec.rhs, "size of B");
    const auto largest = std::numeric_limits<std::int32_t>::max();
    if (bytes > largest || vector > largest)
        throw SpecError(fmt::format("the workspace takes {} bytes and B {} elements; an exported solver has at most {} of each", bytes,
                                    vector, largest));
    check_data(request);
}

/// Of the Makefile: how instructions are counted.
std::string report_rules(const Machine& machine) {
    if (!machine.has_report()) return "";
    return fmt::format("{}{}", template_text("c99/report.mk"), template_text(fmt::format("c99/report_{}.mk", machine.report)));
}

std::map<std::string, std::string> values_of(const ExportRequest& request) {
    const auto& machine = machine_of(request.target);
    const auto facts = export_facts(request);
    const auto& spec = request.spec;
    const bool bare = machine.is_cortex_m();
    const std::string sources = request.data ? "btd_solver.c btd_data.c" : "btd_solver.c";
    std::string objects = request.data ? "example_main.o btd_solver.o btd_data.o" : "example_main.o btd_solver.o";
    if (bare) objects += " startup_cortex_m.o";
    const auto number = [](std::int64_t value) { return fmt::format("{}", value); };
    return {
        {"N", number(spec.horizon)},
        {"BLOCK", number(spec.block)},
        {"RHS", number(spec.rhs)},
        {"PRECISION", std::string(to_string(spec.precision))},
        {"TARGET", to_string(request.target)},
        {"COMMAND", facts.command},
        {"COMPILER", std::string(machine.compiler)},
        {"MACHINE", std::string(machine.flags)},
        {"LINK", std::string(machine.link)},
        {"RUN", std::string(machine.run)},
        {"SIZE", std::string(machine.size)},
        {"CONTRACT", std::string(machine.contract)},
        {"SOURCES", sources},
        {"OBJECTS", objects},
        {"REPORT", report_rules(machine)},
        {"REPORT_HELP", machine.has_report() ? "# make report    counts instructions of a factorization and a solve: report.json\n" : ""},
        {"REPORT_README",
         machine.has_report() ? "    make report       # counts the instructions of a factorization and a solve: report.json\n" : ""},
        {"RUNS_ON", bare ? ", for a board that QEMU emulates" : ""},
        {"D_BYTES", number(facts.d_bytes)},
        {"E_BYTES", number(facts.e_bytes)},
        {"B_BYTES", number(facts.b_bytes)},
        {"WORKSPACE_32", number(facts.workspace_bytes_32)},
        {"WORKSPACE_64", number(facts.workspace_bytes_64)},
        {"STACK", number(facts.stack_bytes)},
        {"CODE", number(facts.code_bytes)},
        {"FACTOR_FLOPS", number(facts.factor_flops)},
        {"SOLVE_FLOPS", number(facts.solve_flops)},
        {"DIALECT", std::string(template_text(machine.has_kernels() ? "c99/readme_kernels.md" : "c99/readme_plain.md"))},
        {"STANDARD", machine.has_kernels() ? "11" : "99"},
        {"EXTENSIONS", machine.has_kernels() ? "ON" : "OFF"},
        {"ARCHITECTURE", machine.has_kernels() ? std::string(machine.flags.substr(machine.flags.find(' '))) : ""}};
}

/// As socu counts: 7/3 n^3 a block but for the last, and 6 n^2 a right-hand side.
std::int64_t nominal_factor_flops(const Spec& spec) {
    return static_cast<std::int64_t>(cost(sequential(spec.horizon), spec, 1).total.flops(spec.block));
}
std::int64_t nominal_solve_flops(const Spec& spec) { return 2 * spec.rhs * spec.block * spec.block * (3 * spec.horizon - 2); }

}  // namespace

const Machine& machine_of(const Target& target) {
    const auto* found = std::ranges::find(machines, target.arch, &Machine::arch);
    if (target.backend != Backend::c99 || found == machines.end())
        throw SpecError(
            fmt::format("target '{}' cannot be exported; give c99:generic, c99:cortex-m4, c99:cortex-m7, c99:neon, c99:avx2 or c99:avx512",
                        to_string(target)));
    return *found;
}

ExportFacts export_facts(const ExportRequest& request) {
    const auto& spec = request.spec;
    const auto& machine = machine_of(request.target);
    const auto bytes = element_bytes(spec.precision);
    const auto blocks = [&](std::int64_t count) {
        return checked_multiply(checked_multiply(count, spec.block * spec.block, "size of a solver"), bytes, "size of a solver");
    };
    const auto workspace = [&](std::int64_t pointer) {
        constexpr std::int64_t vector = 64;
        if (machine.has_kernels()) return (kernel_program(request).workspace_bytes / vector + 1) * vector;
        const auto arrays = checked_add(blocks(spec.horizon), blocks(std::max<std::int64_t>(spec.horizon - 1, 1)), "size of a solver");
        const auto alignment = std::max(pointer, bytes);
        return (2 * pointer + arrays + alignment - 1) / alignment * alignment;
    };
    const auto data = request.data ? " --data D.npy E.npy b.npy" : "";
    const std::size_t precision = spec.precision == Precision::f64;
    return {.d_bytes = blocks(spec.horizon),
            .e_bytes = blocks(spec.horizon - 1),
            .b_bytes = rhs_extent(spec, 1, spec.rhs) * bytes,
            .workspace_bytes_32 = workspace(4),
            .workspace_bytes_64 = workspace(8),
            .stack_bytes = machine.stack_bytes[precision],
            .code_bytes = machine.code_bytes[precision],
            .factor_flops = machine.has_kernels() ? nominal_factor_flops(spec) : exported_factor_counts(spec).flops(),
            .solve_flops = machine.has_kernels() ? nominal_solve_flops(spec) : exported_solve_counts(spec).flops(),
            .command = fmt::format("trifold export --block {} --horizon {} --precision {} --rhs {} --target {} --prefix {}{}", spec.block,
                                   spec.horizon, to_string(spec.precision), spec.rhs, to_string(request.target), request.prefix, data)};
}

std::string with_prefix(std::string_view text, std::string_view prefix) {
    std::string capitals(prefix), result;
    std::ranges::transform(capitals, capitals.begin(), [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
    const auto inside = [](char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; };
    for (std::size_t k = 0; k < text.size(); ++k) {
        const auto word = text.substr(k, 4);
        const bool starts = k == 0 || !inside(text[k - 1]);
        if (starts && (word == "btd_" || word == "BTD_")) {
            result += word == "btd_" ? std::string(prefix) : capitals;
            k += 2;  // the underscore follows
        } else {
            result += text[k];
        }
    }
    return result;
}

void check_prefix(std::string_view prefix) {
    if (is_identifier(prefix)) return;
    throw SpecError(
        fmt::format("prefix '{}' cannot begin the names of the C code; give a letter, then letters, digits and _, at most 32", prefix));
}

std::string filled(std::string_view text, const std::map<std::string, std::string>& values) {
    std::string result(text);
    for (const auto& [key, value] : values) {
        const auto mark = "@" + key + "@";
        for (auto at = result.find(mark); at != std::string::npos; at = result.find(mark, at + value.size()))
            result.replace(at, mark.size(), value);
    }
    return result;
}

std::vector<ExportedFile> export_project(const ExportRequest& request) {
    check(request);
    std::vector<ExportedFile> files{{"btd_solver.h", c99_header(request)}, {"btd_solver.c", c99_source(request)}};
    if (request.data) files.push_back({"btd_data.c", c99_data(request)});
    files.push_back({"example_main.c", c99_example(request)});
    if (machine_of(request.target).has_report()) files.push_back({"report_main.c", c99_report(request)});
    const auto values = values_of(request);
    for (const std::string name : {"CMakeLists.txt", "Makefile", "README.md"})
        files.push_back({name, filled(template_text("c99/" + name), values)});
    if (machine_of(request.target).is_cortex_m()) {
        for (const std::string name : {"startup_cortex_m.c", "cortex_m.ld"})
            files.push_back({name, std::string(template_text("c99/" + name))});
    }
    for (auto& [name, text] : files) {
        name = with_prefix(name, request.prefix);
        text = with_prefix(text, request.prefix);
    }
    files.push_back({"manifest.json", export_manifest(request, files)});
    return files;
}

}  // namespace trifold
