#include <dlfcn.h>
#include <fmt/format.h>

#include <mutex>
#include <trifold/error.hpp>

#include "runtime/base/files.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/processors.hpp"
#include "runtime/base/switches.hpp"
#include "runtime/compile/clang/plugin.h"
#include "runtime/compile/compiler.hpp"

namespace trifold {

#ifdef TRIFOLD_CLANG_VERSION
namespace {

namespace fs = std::filesystem;

fs::path find_plugin() {
    const auto asked = switch_value("TRIFOLD_CLANG");
    if (asked.empty()) return find_part("libtrifold_clang.so");
    std::error_code ignored;
    return fs::exists(asked, ignored) ? fs::path(asked) : fs::path();
}

class ClangCompiler : public Compiler {
  public:
    explicit ClangCompiler(fs::path plugin) : plugin_(std::move(plugin)) {}
    const std::string& identity() const override { return identity_; }

    /// Tries again after a failure, which may have been for want of descriptors.
    bool usable() const override {
        const std::scoped_lock lock(opening_);
        if (compile_ != nullptr) return true;
        void* library = ::dlopen(plugin_.c_str(), RTLD_NOW | RTLD_LOCAL);  // never closed: LLVM does not survive that
        if (library != nullptr) compile_ = reinterpret_cast<decltype(compile_)>(::dlsym(library, "trifold_clang_compile"));
        if (compile_ == nullptr) log_once(LogLevel::warning, fmt::format("Clang in process is not used: {}", ::dlerror()));
        return compile_ != nullptr;
    }

    Compiled compile(const std::string& source, const std::vector<std::string>& options) const override {
        if (!usable()) throw DeviceError(fmt::format("{} cannot be loaded; install libclang-cpp19 and libllvm19", plugin_.string()));
        const PrivateDirectory directory;
        std::vector<const char*> words;
        for (const auto& option : options) words.push_back(option.c_str());
        Compiled compiled;
        const auto receive = [](void* context, const char* object, std::size_t bytes, const char* log, std::size_t log_bytes) {
            auto& result = *static_cast<Compiled*>(context);
            result.bytes.assign(object, bytes);
            result.log.assign(log, log_bytes);
        };
        const auto threads = static_cast<unsigned>(usable_processors());
        if (compile_(source.data(), source.size(), words.data(), words.size(), directory.path().c_str(), receive, &compiled, threads) != 0)
            throw CompileError("Clang rejected the source", compiled.log);
        return compiled;
    }

  private:
    fs::path plugin_;
    std::string identity_ = "clang " TRIFOLD_CLANG_VERSION;
    mutable std::mutex opening_;
    mutable decltype(&trifold_clang_compile) compile_ = nullptr;
};

}  // namespace

std::shared_ptr<const Compiler> find_clang(ToolReport& report) {
    report = {"clang (in process)", "compiles CPU and HIP kernels", false, TRIFOLD_CLANG_VERSION};
    const auto plugin = find_plugin();
    report.path = plugin;
    report.advice = "install libclang-cpp19 and libllvm19, and libtrifold_clang.so beside the program or its library";
    if (const auto asked = switch_value("TRIFOLD_CLANG"); !asked.empty())
        report.advice = fmt::format("TRIFOLD_CLANG names '{}', which is not there", asked);
    if (plugin.empty()) return nullptr;
    report.found = true;
    return std::make_shared<ClangCompiler>(plugin);
}

#else

std::shared_ptr<const Compiler> find_clang(ToolReport& report) {
    report = {"clang (in process)", "compiles CPU and HIP kernels"};
    report.advice = "this build is without LLVM and uses the system's C compiler; build with -DTRIFOLD_LLVM=ON to include Clang 19";
    return nullptr;
}

#endif

}  // namespace trifold
