#include "runtime/compiler.hpp"

#include <map>
#include <mutex>

#include "runtime/error.hpp"
#include "runtime/log.hpp"
#include "runtime/switches.hpp"

namespace trifold {
namespace {

struct Found {
    std::shared_ptr<const Compiler> compiler;
    ToolReport report;
};

/// Looks once in a process for each setting of the variable that names the compiler.
template <class Find>
Found remember(const char* variable, Find find) {
    static std::mutex mutex;
    static std::map<std::string, Found> known;
    const std::scoped_lock lock(mutex);
    const auto [entry, first] = known.try_emplace(std::string(variable) + "=" + switch_value(variable));
    if (first) entry->second.compiler = find(entry->second.report);
    return entry->second;
}

Found clang_wanted() {
    if (disabled("clang") || !switch_value("TRIFOLD_CC").empty()) return {};
    return remember("TRIFOLD_CLANG", find_clang);
}

}  // namespace

std::shared_ptr<const Compiler> expect_compiler(Backend backend) {
    if (backend == Backend::cuda) return remember("TRIFOLD_NVRTC", find_nvrtc).compiler;
    if (const auto clang = clang_wanted(); clang.compiler) return clang.compiler;
    return remember("TRIFOLD_CC", find_cc).compiler;
}

std::shared_ptr<const Compiler> find_compiler(Backend backend) {
    if (backend == Backend::cuda) {
        const auto nvrtc = remember("TRIFOLD_NVRTC", find_nvrtc);
        if (!nvrtc.compiler) throw DeviceError("cannot compile for CUDA: no usable NVRTC; " + nvrtc.report.advice);
        return nvrtc.compiler;
    }
    if (const auto clang = clang_wanted(); clang.compiler && clang.compiler->usable()) return clang.compiler;
    const auto cc = remember("TRIFOLD_CC", find_cc);
    if (!cc.compiler) throw DeviceError("cannot compile for the CPU: no usable C compiler; " + cc.report.advice);
    return cc.compiler;
}

std::string host_triple() {
#if defined(__x86_64__)
    return "x86_64-linux-gnu";
#elif defined(__aarch64__)
    return "aarch64-linux-gnu";
#else
#error "CPU kernels run on x86-64 and 64-bit ARM"
#endif
}

}  // namespace trifold
