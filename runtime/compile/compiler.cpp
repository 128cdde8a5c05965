#include "runtime/compile/compiler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <trifold/error.hpp>

#include "runtime/base/limits.hpp"
#include "runtime/base/switches.hpp"

namespace trifold {
namespace {

struct Found {
    std::shared_ptr<const Compiler> compiler;
    ToolReport report;
};

/// Looks once in a process for each setting of the variable that names the compiler. Where it did not look well, for want of descriptors,
/// it throws DeviceError and looks again the next time.
template <class Find>
Found remember(const char* variable, Find find) {
    static std::mutex mutex;
    static std::map<std::string, Found> known;
    const std::scoped_lock lock(mutex);
    const auto setting = std::string(variable) + "=" + switch_value(variable);
    if (const auto entry = known.find(setting); entry != known.end()) return entry->second;
    Found found;
    found.compiler = find(found.report);
    if (!found.compiler) check_descriptors("look for a compiler");
    return known.emplace(setting, std::move(found)).first->second;
}

Found clang() {
    if (disabled("clang")) return {{}, {.advice = "TRIFOLD_DISABLE=clang forbids Clang in process"}};
    return remember("TRIFOLD_CLANG", find_clang);
}

Found hiprtc() {
    if (disabled("hiprtc")) return {{}, {.advice = "TRIFOLD_DISABLE=hiprtc forbids hiprtc"}};
    return remember("TRIFOLD_HIPRTC", find_hiprtc);
}

Found clang_for_cpu() { return switch_value("TRIFOLD_CC").empty() ? clang() : Found{}; }

std::shared_ptr<const Compiler> find_hip_compiler(const Target& target) {
    const auto rtc = hiprtc(), in_process = clang();
    if (rtc.compiler && rtc.compiler->compiles(target)) return rtc.compiler;
    if (in_process.compiler && in_process.compiler->usable()) return in_process.compiler;
    const auto found =
        rtc.compiler ? fmt::format("{} does not know {}", rtc.compiler->identity(), target.arch) : "no usable hiprtc: " + rtc.report.advice;
    throw DeviceError(
        fmt::format("cannot compile for {}: {}; no Clang in process: {}", to_string(target), found, in_process.report.advice));
}

}  // namespace

std::shared_ptr<const Compiler> expect_compiler(const Target& target) {
    if (target.backend == Backend::cuda) return remember("TRIFOLD_NVRTC", find_nvrtc).compiler;
    if (target.backend == Backend::hip) {
        const auto rtc = hiprtc();
        return rtc.compiler && rtc.compiler->compiles(target) ? rtc.compiler : clang().compiler;
    }
    if (const auto found = clang_for_cpu(); found.compiler) return found.compiler;
    return remember("TRIFOLD_CC", find_cc).compiler;
}

std::shared_ptr<const Compiler> find_compiler(const Target& target) {
    if (target.backend == Backend::cuda) {
        const auto nvrtc = remember("TRIFOLD_NVRTC", find_nvrtc);
        if (!nvrtc.compiler) throw DeviceError("cannot compile for CUDA: no usable NVRTC; " + nvrtc.report.advice);
        return nvrtc.compiler;
    }
    if (target.backend == Backend::hip) return find_hip_compiler(target);
    if (const auto found = clang_for_cpu(); found.compiler && found.compiler->usable()) return found.compiler;
    const auto cc = remember("TRIFOLD_CC", find_cc);
    if (!cc.compiler) throw DeviceError("cannot compile for the CPU: no usable C compiler; " + cc.report.advice);
    return cc.compiler;
}

namespace {

constexpr std::string_view arch_option = "-arch=", machine_code = "-arch=sm_", virtual_code = "-arch=compute_";

}  // namespace

Unit as_ptx(Unit unit) {
    if (unit.target.backend != Backend::cuda || is_ptx(unit)) return unit;
    std::erase_if(unit.options, [](const std::string& option) { return option.starts_with("--ptxas-options"); });  // there is no ptxas
    for (auto& option : unit.options)
        if (option.starts_with(machine_code)) option.replace(0, machine_code.size(), virtual_code);
    unit.id += "_ptx";
    return unit;
}

Program as_ptx(Program program) {
    for (auto& unit : program.units) unit = as_ptx(std::move(unit));
    return program;
}

bool is_ptx(const Unit& unit) {
    return std::ranges::any_of(unit.options, [](const std::string& option) { return option.starts_with(virtual_code); });
}

std::string code_name(const Unit& unit) {
    const auto found = std::ranges::find_if(unit.options, [](const std::string& option) { return option.starts_with(arch_option); });
    return found == unit.options.end() ? std::string() : found->substr(arch_option.size());
}

}  // namespace trifold
