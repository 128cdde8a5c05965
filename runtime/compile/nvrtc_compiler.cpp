#include <dlfcn.h>
#include <fmt/format.h>

#include "runtime/base/files.hpp"
#include "runtime/base/switches.hpp"
#include "runtime/base/symbols.hpp"
#include "runtime/compile/compiler.hpp"

#ifdef TRIFOLD_HAS_CUDA
#include <nvrtc.h>

#include <trifold/error.hpp>
#endif

namespace trifold {

#ifdef TRIFOLD_HAS_CUDA
namespace {

// Types come from nvrtc.h, addresses from the library found at run time.
// clang-format off: it indents every line further
#define TRIFOLD_NVRTC_FUNCTIONS(X) \
    X(version, nvrtcVersion) X(error_string, nvrtcGetErrorString) X(create, nvrtcCreateProgram) X(destroy, nvrtcDestroyProgram) \
    X(compile, nvrtcCompileProgram) X(cubin_size, nvrtcGetCUBINSize) X(cubin, nvrtcGetCUBIN) X(ptx_size, nvrtcGetPTXSize) \
    X(ptx, nvrtcGetPTX) X(log_size, nvrtcGetProgramLogSize) X(log, nvrtcGetProgramLog)
// clang-format on
struct Nvrtc {
    TRIFOLD_SYMBOLS(TRIFOLD_NVRTC_FUNCTIONS)
};

class NvrtcCompiler : public Compiler {
  public:
    explicit NvrtcCompiler(const Nvrtc& nvrtc, std::string identity) : nvrtc_(nvrtc), identity_(std::move(identity)) {}
    const std::string& identity() const override { return identity_; }

    Compiled compile(const std::string& source, const std::vector<std::string>& options) const override {
        nvrtcProgram program{};
        check(nvrtc_.create(&program, source.c_str(), "kernel.cu", 0, nullptr, nullptr), "could not take the source", {});
        struct Release {
            const Nvrtc& nvrtc;
            nvrtcProgram program;
            ~Release() { nvrtc.destroy(&program); }
        } const release{nvrtc_, program};
        std::vector<const char*> words;
        for (const auto& option : options) words.push_back(option.c_str());
        const auto outcome = nvrtc_.compile(program, static_cast<int>(words.size()), words.data());
        auto log = text(program, nvrtc_.log_size, nvrtc_.log);
        check(outcome, "rejected the source", log);
        auto cubin = text(program, nvrtc_.cubin_size, nvrtc_.cubin, false), ptx = text(program, nvrtc_.ptx_size, nvrtc_.ptx);
        if (cubin.empty()) cubin = ptx;  // there is none for a virtual architecture, such as -arch=compute_90
        if (cubin.empty()) throw CompileError("neither machine code nor PTX: the options must name an architecture", log);
        return {std::move(cubin), std::move(log), std::move(ptx)};
    }

  private:
    void check(nvrtcResult outcome, const char* what, const std::string& log) const {
        if (outcome != NVRTC_SUCCESS) throw CompileError(fmt::format("NVRTC {}: {}", what, nvrtc_.error_string(outcome)), log);
    }
    template <class Size, class Get>
    static std::string text(nvrtcProgram program, const Size& size, const Get& get, bool terminated = true) {
        std::size_t bytes = 0;
        if (size(program, &bytes) != NVRTC_SUCCESS || bytes == 0) return {};
        std::string result(bytes, '\0');
        if (get(program, result.data()) != NVRTC_SUCCESS) return {};
        if (terminated) result.pop_back();
        return result;
    }
    Nvrtc nvrtc_;
    std::string identity_;
};

/// Every libnvrtc.so.13 or .12 below `prefix`, for the places that PyPI packages use.
void add_python_packages(std::vector<std::string>& candidates, const std::filesystem::path& prefix) {
    std::error_code ignored;
    if (prefix.empty()) return;
    for (std::filesystem::directory_iterator python(prefix / "lib", ignored), end; python != end && !ignored; python.increment(ignored)) {
        for (const auto* name : {"nvidia/cu13/lib/libnvrtc.so.13", "nvidia/cuda_nvrtc/lib/libnvrtc.so.12"}) {
            const auto path = python->path() / "site-packages" / name;
            if (std::filesystem::exists(path, ignored)) candidates.push_back(path);
        }
    }
}

std::vector<std::string> library_candidates() {
    const std::vector<std::string> names{"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
    std::vector<std::string> result;
    const auto add_directory = [&](const std::string& directory) {
        for (const auto& name : names) result.push_back((std::filesystem::path(directory) / name).string());
    };
    if (const auto asked = switch_value("TRIFOLD_NVRTC"); !asked.empty()) {
        std::error_code missing;
        if (!std::filesystem::is_directory(asked, missing)) return {asked};
        add_directory(asked);
        return result;
    }
    result = names;
    for (const auto* root : {"CUDA_HOME", "CUDA_PATH"}) {
        if (const auto value = switch_value(root); !value.empty()) add_directory(value + "/lib64");
    }
    add_directory("/usr/local/cuda/lib64");
    for (const auto* environment : {"VIRTUAL_ENV", "CONDA_PREFIX"}) add_python_packages(result, switch_value(environment));
    return result;
}

std::string path_of(const void* function) {
    Dl_info about{};
    return ::dladdr(function, &about) != 0 && about.dli_fname != nullptr ? about.dli_fname : "";
}

}  // namespace

std::shared_ptr<const Compiler> find_nvrtc(ToolReport& report) {
    report = {"nvrtc", "compiles CUDA kernels"};
    report.advice =
        "install NVRTC 12 or 13 (the cuda-nvrtc package of a CUDA toolkit, or pip install nvidia-cuda-nvrtc), or set TRIFOLD_NVRTC to "
        "libnvrtc.so";
    if (const auto asked = switch_value("TRIFOLD_NVRTC"); !asked.empty())
        report.advice = fmt::format("TRIFOLD_NVRTC names '{}', where there is no usable libnvrtc", asked);
    for (const auto& candidate : library_candidates()) {
        void* library = ::dlopen(candidate.c_str(), RTLD_LAZY | RTLD_LOCAL);  // never closed: it does not survive that
        Nvrtc nvrtc{};
        int major = 0, minor = 0;
        if (library == nullptr || !find_all(nvrtc, library).empty() || nvrtc.version(&major, &minor) != NVRTC_SUCCESS) continue;
        report.found = true;
        report.version = fmt::format("{}.{}", major, minor);
        report.path = path_of(reinterpret_cast<const void*>(nvrtc.version.address));
        report.advice.clear();
        return std::make_shared<NvrtcCompiler>(nvrtc, "nvrtc " + report.version);
    }
    return nullptr;
}

#else

std::shared_ptr<const Compiler> find_nvrtc(ToolReport& report) {
    report = {"nvrtc", "compiles CUDA kernels"};
    report.advice = "this build has no CUDA support; build with -DTRIFOLD_CUDA=ON where cuda.h and nvrtc.h are found";
    return nullptr;
}

#endif

}  // namespace trifold
