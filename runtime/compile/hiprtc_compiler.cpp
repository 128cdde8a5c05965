#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <trifold/error.hpp>

#include "runtime/base/files.hpp"
#include "runtime/base/process.hpp"
#include "runtime/base/switches.hpp"
#include "runtime/compile/compiler.hpp"

namespace trifold {
namespace {

namespace fs = std::filesystem;

/// The first release of ROCm whose hiprtc knows an architecture: earlier ones end the process when asked for it.
struct Known {
    std::string_view arch;
    int major, minor;
};
constexpr std::array known_archs{Known{"gfx906", 5, 0},  Known{"gfx908", 5, 0}, Known{"gfx90a", 5, 0}, Known{"gfx1030", 5, 0},
                                 Known{"gfx1100", 5, 5}, Known{"gfx942", 6, 0}, Known{"gfx1201", 6, 4}};

/// "5.2.21153" of a library that is, in the end, libamdhip64.so.5.2.21153.
std::string version_of(const fs::path& library) {
    constexpr std::string_view mark = ".so.";
    const auto name = library.filename().string();
    const auto at = name.find(mark);
    return at == std::string::npos ? std::string() : name.substr(at + mark.size());
}

std::pair<int, int> parse_version(const std::string& text) {
    std::pair<int, int> version{0, 0};
    const auto* end = text.data() + text.size();
    const auto [dot, error] = std::from_chars(text.data(), end, version.first);
    if (error == std::errc{} && dot != end) std::from_chars(dot + 1, end, version.second);
    return version;
}

/// Folders in which ROCm and the distributions put their libraries. The files are looked at, not loaded: that would cost 60 ms.
std::vector<fs::path> directories() {
    if (const auto asked = switch_value("TRIFOLD_HIPRTC"); !asked.empty()) return {asked};
    std::vector<fs::path> result;
    for (const auto* root : {"ROCM_PATH", "HIP_PATH"}) {
        if (const auto value = switch_value(root); !value.empty()) result.emplace_back(fs::path(value) / "lib");
    }
    for (const auto* place : {"/opt/rocm/lib", "/usr/lib64", "/usr/lib"}) result.emplace_back(place);
    result.push_back("/usr/lib/" + host_triple());
    return result;
}

/// libhiprtc of newer releases, or libamdhip64, which held hiprtc before; the newest version of the first directory that has one.
fs::path find_library() {
    std::error_code missing;
    if (const auto asked = switch_value("TRIFOLD_HIPRTC"); !asked.empty() && !fs::is_directory(asked, missing)) {
        return fs::canonical(asked, missing);
    }
    for (const auto& directory : directories()) {
        for (const auto* name : {"libhiprtc.so", "libamdhip64.so"}) {
            fs::path best;
            std::error_code error;
            for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
                if (!entry->path().filename().string().starts_with(name)) continue;
                std::error_code broken;
                const auto file = fs::canonical(entry->path(), broken);
                if (!broken && (best.empty() || parse_version(version_of(file)) > parse_version(version_of(best)))) best = file;
            }
            if (!best.empty()) return best;
        }
    }
    return {};
}

/// Runs hiprtc in a process of its own, so that its crashes end that process and not the host's.
class HiprtcCompiler : public Compiler {
  public:
    HiprtcCompiler(fs::path helper, fs::path library)
        : helper_(std::move(helper)), library_(std::move(library)), identity_("hiprtc " + version_of(library_)) {}
    const std::string& identity() const override { return identity_; }

    bool compiles(const Target& target) const override {
        const auto* known = std::ranges::find(known_archs, target.arch, &Known::arch);
        return known != known_archs.end() && parse_version(version_of(library_)) >= std::pair(known->major, known->minor);
    }

    Compiled compile(const std::string& source, const std::vector<std::string>& options) const override {
        const PrivateDirectory directory;
        const auto input = directory.path() / "kernel.hip", output = directory.path() / "kernel.hsaco";
        write_file(input, source);
        std::vector<std::string> words{helper_, library_, input, output};
        words.insert(words.end(), options.begin(), options.end());
        auto ended = run_process(words, directory.path());
        const auto code = read_file(output);
        if (!ended.started || ended.status != 0) throw CompileError(reason(ended), ended.output);
        if (!code || code->empty()) throw CompileError("hiprtc wrote no code object", ended.output);
        return {*code, std::move(ended.output), {}};
    }

  private:
    std::string reason(const Ended& ended) const {
        const bool late = ended.started && WIFSIGNALED(ended.status) && WTERMSIG(ended.status) == SIGALRM;
        if (late) return fmt::format("{} took longer than its time limit; TRIFOLD_DISABLE=hiprtc uses Clang instead", identity_);
        if (ended.started && WIFEXITED(ended.status) && WEXITSTATUS(ended.status) == 1) return "hiprtc rejected the source";
        return fmt::format("{} ({}) {}; TRIFOLD_DISABLE=hiprtc uses Clang instead", helper_.string(), identity_, ended.describe());
    }
    fs::path helper_, library_;
    std::string identity_;
};

}  // namespace

std::shared_ptr<const Compiler> find_hiprtc(ToolReport& report) {
    report = {"hiprtc", "compiles HIP kernels"};
    const auto library = find_library(), helper = find_part("trifold-hiprtc");
    report.path = library;
    if (library.empty()) {
        report.advice =
            "install ROCm's hiprtc (Debian: libamdhip64-5 libhiprtc-builtins5 rocm-device-libs), or set TRIFOLD_HIPRTC to libhiprtc.so";
        if (const auto asked = switch_value("TRIFOLD_HIPRTC"); !asked.empty())
            report.advice = fmt::format("TRIFOLD_HIPRTC names '{}', where there is no libhiprtc", asked);
        return nullptr;
    }
    if (helper.empty()) {
        report.advice = "trifold-hiprtc is missing beside the program or its library; it is built where hip/hiprtc.h is found";
        return nullptr;
    }
    report.found = true;
    report.version = version_of(library);
    return std::make_shared<HiprtcCompiler>(helper, library);
}

}  // namespace trifold
