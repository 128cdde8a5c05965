#include <fmt/format.h>
#include <fmt/ranges.h>

#include <trifold/error.hpp>

#include "runtime/base/files.hpp"
#include "runtime/base/process.hpp"
#include "runtime/base/switches.hpp"
#include "runtime/compile/compiler.hpp"

namespace trifold {
namespace {

class CcCompiler : public Compiler {
  public:
    CcCompiler(std::string path, std::string identity) : path_(std::move(path)), identity_(std::move(identity)) {}
    const std::string& identity() const override { return identity_; }

    Compiled compile(const std::string& source, const std::vector<std::string>& options) const override {
        const PrivateDirectory directory;
        const auto input = directory.path() / "kernel.c";
        const auto output = directory.path() / "kernel.so";
        write_file(input, source);
        std::vector<std::string> command{path_};
        command.insert(command.end(), options.begin(), options.end());
        // GCC 12 takes an address that it has split into a difference and an index for null. It then believes that the function stores
        // nothing, and removes calls of it, unless there may be something at null.
        command.emplace_back("-fno-delete-null-pointer-checks");
        for (const std::string word : {"-std=gnu11", "-fPIC", "-shared", "-o", output.c_str(), input.c_str(), "-lm"})
            command.push_back(word);
        auto outcome = run_process(command, directory.path());
        auto bytes = read_file(output);
        if (outcome.status > 0 || !outcome.started || !bytes)
            throw CompileError(fmt::format("{} {}", path_, outcome.describe()), outcome.output);
        return {std::move(*bytes), std::move(outcome.output), {}};
    }

  private:
    std::string path_, identity_;
};

}  // namespace

std::shared_ptr<const Compiler> find_cc(ToolReport& report) {
    report = {"cc", "compiles CPU kernels where Clang is not built in"};
    const auto asked = switch_value("TRIFOLD_CC");
    const auto candidates = asked.empty() ? std::vector<std::string>{"cc", "gcc", "clang", "clang-19"} : std::vector<std::string>{asked};
    report.advice = asked.empty() ? "install a C compiler (Debian: apt install gcc libc6-dev) or set TRIFOLD_CC"
                                  : fmt::format("TRIFOLD_CC names '{}', which is not a working compiler", asked);
    for (const auto& candidate : candidates) {
        report.path = find_executable(candidate);
        if (report.path.empty()) continue;
        const auto outcome = run_process({report.path, "--version"});
        report.version = outcome.output.substr(0, outcome.output.find('\n'));
        if (!outcome.started || outcome.status > 0 || report.version.empty()) continue;
        report.found = true;
        report.advice.clear();
        return std::make_shared<CcCompiler>(report.path, report.version);
    }
    return nullptr;
}

}  // namespace trifold
