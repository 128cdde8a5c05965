// The only file that includes Clang's headers: they cost 20 s and more than 1 GB to compile.
#include <clang/Basic/DiagnosticOptions.h>
#include <clang/Basic/Version.h>
#include <clang/CodeGen/CodeGenAction.h>
#include <clang/Driver/Compilation.h>
#include <clang/Driver/Driver.h>
#include <clang/Driver/Job.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/TextDiagnosticPrinter.h>
#include <clang/Lex/PreprocessorOptions.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/TargetParser/Host.h>

#include <mutex>

#include "runtime/clang/link.hpp"
#include "runtime/clang/plugin.h"

namespace trifold::clang_plugin {
namespace {

constexpr auto file_name = "kernel.c";

void initialize_target() {
    static std::once_flag once;
    std::call_once(once, [] {
        llvm::InitializeNativeTarget();
        llvm::InitializeNativeTargetAsmPrinter();
        llvm::InitializeNativeTargetAsmParser();
    });
}

/// Everything Clang says, as text.
class Diagnostics {
  public:
    Diagnostics()
        : stream_(text_),
          options_(new clang::DiagnosticOptions),
          printer_(stream_, options_.get()),
          engine_(new clang::DiagnosticIDs, options_, &printer_, false) {}
    clang::DiagnosticsEngine& engine() { return engine_; }
    clang::DiagnosticConsumer& printer() { return printer_; }
    std::string text() { return stream_.str(); }

  private:
    std::string text_;
    llvm::raw_string_ostream stream_;
    llvm::IntrusiveRefCntPtr<clang::DiagnosticOptions> options_;
    clang::TextDiagnosticPrinter printer_;
    clang::DiagnosticsEngine engine_;
};

/// What `clang OPTIONS -c kernel.c` would pass to its compiler proper.
std::shared_ptr<clang::CompilerInvocation> invocation(const std::vector<std::string>& options, clang::DiagnosticsEngine& diagnostics) {
    clang::driver::Driver driver("clang", llvm::sys::getDefaultTargetTriple(), diagnostics, "trifold");
    driver.setCheckInputsExist(false);
    std::vector<const char*> arguments{"clang"};
    for (const auto& option : options) arguments.push_back(option.c_str());
    for (const char* word : {"-std=gnu11", "-fPIC", "-c", "-o", "kernel.o", file_name}) arguments.push_back(word);
    const std::unique_ptr<clang::driver::Compilation> compilation(driver.BuildCompilation(arguments));
    if (!compilation || diagnostics.hasErrorOccurred() || compilation->getJobs().size() != 1) return nullptr;
    auto result = std::make_shared<clang::CompilerInvocation>();
    if (!clang::CompilerInvocation::CreateFromArgs(*result, compilation->getJobs().begin()->getArguments(), diagnostics)) return nullptr;
    result->getFrontendOpts().DisableFree = false;  // a process of its own may leak, a host must not
    result->getCodeGenOpts().DisableFree = false;
    return result;
}

/// Relocatable machine code; empty when it failed.
llvm::SmallString<0> compile_object(llvm::StringRef source, const std::vector<std::string>& options, Diagnostics& diagnostics) {
    initialize_target();
    llvm::SmallString<0> object;
    const auto what = invocation(options, diagnostics.engine());
    if (!what) return object;
    what->getPreprocessorOpts().addRemappedFile(file_name, llvm::MemoryBuffer::getMemBufferCopy(source, file_name).release());
    clang::CompilerInstance instance;
    instance.setInvocation(what);
    instance.createDiagnostics(&diagnostics.printer(), false);
    instance.setOutputStream(std::make_unique<llvm::raw_svector_ostream>(object));
    instance.setVerboseOutputStream(llvm::nulls());
    clang::EmitObjAction action;
    if (!instance.ExecuteAction(action)) object.clear();
    return object;
}

bool write_file(const std::string& path, llvm::StringRef bytes) {
    std::error_code error;
    llvm::raw_fd_ostream file(path, error);
    if (error) return false;
    file << bytes;
    file.close();
    const bool written = !file.has_error();
    file.clear_error();
    return written;
}

int compile(llvm::StringRef source, const std::vector<std::string>& options, const std::string& directory, std::string& shared,
            std::string& log) {
    Diagnostics diagnostics;
    const auto object = compile_object(source, options, diagnostics);
    log = diagnostics.text();
    if (object.empty()) return 1;
    const auto input = directory + "/kernel.o", output = directory + "/kernel.so";
    if (!write_file(input, object)) {
        log += "cannot write " + input + "\n";
        return 1;
    }
    const auto messages = link_shared(input, output);
    log += messages;
    if (!messages.empty()) return 1;
    const auto linked = llvm::MemoryBuffer::getFile(output, false, false);
    if (!linked) {
        log += "cannot read " + output + "\n";
        return 1;
    }
    shared = (*linked)->getBuffer().str();
    return 0;
}

}  // namespace
}  // namespace trifold::clang_plugin

extern "C" __attribute__((visibility("default"))) int trifold_clang_compile(const char* source, size_t source_bytes,
                                                                            const char* const* options, size_t option_count,
                                                                            const char* directory, trifold_clang_result result,
                                                                            void* context) {
    std::string shared, log;
    const int status = trifold::clang_plugin::compile({source, source_bytes}, {options, options + option_count}, directory, shared, log);
    result(context, shared.data(), shared.size(), log.data(), log.size());
    return status;
}

extern "C" __attribute__((visibility("default"))) const char* trifold_clang_version(void) { return CLANG_VERSION_STRING; }
