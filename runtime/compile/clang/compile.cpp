// The only file that includes Clang's headers: they cost 20 s and more than 1 GB to compile.
#include <clang/Basic/DiagnosticOptions.h>
#include <clang/Basic/Version.h>
#include <clang/CodeGen/BackendUtil.h>
#include <clang/CodeGen/CodeGenAction.h>
#include <clang/Driver/Compilation.h>
#include <clang/Driver/Driver.h>
#include <clang/Driver/Job.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/TextDiagnosticPrinter.h>
#include <clang/Lex/PreprocessorOptions.h>
#include <dlfcn.h>
#include <lld/Common/CommonLinkerContext.h>
#include <lld/Common/Driver.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/VirtualFileSystem.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Host.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <mutex>
#include <thread>

#include "runtime/compile/clang/plugin.h"
#include "runtime/compile/clang/split.hpp"

LLD_HAS_DRIVER(elf)

namespace trifold::clang_plugin {
namespace {

/// The C library's file that holds `function` in this process: a runtime has those, but not what -lc and -lm look for.
std::string library_of(const char* function) {
    Dl_info about{};
    void* address = ::dlsym(RTLD_DEFAULT, function);
    return address != nullptr && ::dladdr(address, &about) != 0 ? about.dli_fname : "";
}

/// Links relocatable objects into the shared object `output`: a device's when an emulation is given, which needs no libraries. One link
/// runs at a time. Returns the linker's messages; empty when all went well.
std::string link_shared(const std::vector<std::string>& inputs, const std::string& output, const char* emulation) {
    static std::mutex mutex;  // LLD keeps its state in globals
    static const std::string libm = library_of("sqrt"), libc = library_of("memset");
    const std::scoped_lock lock(mutex);
    std::vector<const char*> arguments{"ld.lld", "-shared", "--threads=1", "-O0", "-Bsymbolic", "-z", "noexecstack", "-o", output.c_str()};
    for (const auto& input : inputs) arguments.push_back(input.c_str());
    if (emulation != nullptr) {
        for (const char* word : {"-m", emulation, "--no-undefined"}) arguments.push_back(word);
    } else {
        arguments.push_back("--as-needed");
        for (const auto& library : {&libm, &libc}) {
            if (!library->empty()) arguments.push_back(library->c_str());
        }
    }
    std::string messages;
    llvm::raw_string_ostream stream(messages);
    const bool linked = lld::elf::link(arguments, stream, stream, false, false);
    lld::CommonLinkerContext::destroy();
    return linked ? std::string() : "the linker failed:\n" + stream.str();
}

/// A language that units are written in, and what the options of a Program do not say about it.
struct Language {
    const char* file;
    std::vector<const char*> words;
    const char* emulation;  ///< the linker's; null: the host's
};

const Language& language_of(const std::vector<std::string>& options) {
    static const Language c{"kernel.c", {"-std=gnu11", "-fPIC"}, nullptr};
    // No header and no library of ROCm, and no unit id: it would be a variable that keeps the unit in one piece.
    static const Language hip{"kernel.hip",
                              {"-x", "hip", "--cuda-device-only", "--no-gpu-bundle-output", "-nogpulib", "-nogpuinc", "-fuse-cuid=none"},
                              "elf64_amdgpu"};
    const auto device = [](const std::string& option) { return option.starts_with("--offload-arch="); };
    return std::ranges::any_of(options, device) ? hip : c;
}

void initialize_target() {
    static std::once_flag once;
    std::call_once(once, [] {
        llvm::InitializeNativeTarget();
        llvm::InitializeNativeTargetAsmPrinter();
        llvm::InitializeNativeTargetAsmParser();
    });
}

void initialize_amdgpu() {
    static std::once_flag once;
    std::call_once(once, [] {
        LLVMInitializeAMDGPUTargetInfo();
        LLVMInitializeAMDGPUTarget();
        LLVMInitializeAMDGPUTargetMC();
        LLVMInitializeAMDGPUAsmPrinter();
        LLVMInitializeAMDGPUAsmParser();
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

/// Arguments that `clang OPTIONS -c kernel.c` would pass to its compiler proper. For a device it would link after that.
std::shared_ptr<clang::CompilerInvocation> invocation(const std::vector<std::string>& options, clang::DiagnosticsEngine& diagnostics) {
    clang::driver::Driver driver("clang", llvm::sys::getDefaultTargetTriple(), diagnostics, "trifold");
    driver.setCheckInputsExist(false);
    std::vector<const char*> arguments{"clang"};
    // A sixth of Clang's time at -O2 goes into what -O1 leaves out, and register tiles get no faster. Other compilers need it.
    for (const auto& option : options) arguments.push_back(option == "-O2" ? "-O1" : option.c_str());
    const auto& language = language_of(options);
    arguments.insert(arguments.end(), language.words.begin(), language.words.end());
    for (const char* word : {"-c", "-o", "kernel.o", language.file}) arguments.push_back(word);
    const std::unique_ptr<clang::driver::Compilation> compilation(driver.BuildCompilation(arguments));
    if (!compilation || diagnostics.hasErrorOccurred() || compilation->getJobs().empty()) return nullptr;
    auto result = std::make_shared<clang::CompilerInvocation>();
    if (!clang::CompilerInvocation::CreateFromArgs(*result, compilation->getJobs().begin()->getArguments(), diagnostics)) return nullptr;
    result->getFrontendOpts().DisableFree = false;  // a process of its own may leak, a host must not
    result->getCodeGenOpts().DisableFree = false;
    return result;
}

/// A unit that went through the front end: what is left to do is optimize it and write machine code.
struct Unit {
    std::unique_ptr<llvm::MemoryBuffer> text;
    clang::CompilerInstance instance;
    llvm::LLVMContext context;
    std::unique_ptr<llvm::Module> module;
};

std::unique_ptr<Unit> parse(llvm::StringRef source, const std::vector<std::string>& options, Diagnostics& diagnostics) {
    const auto what = invocation(options, diagnostics.engine());
    if (!what) return nullptr;
    auto unit = std::make_unique<Unit>();
    const auto* file_name = language_of(options).file;
    unit->text = llvm::MemoryBuffer::getMemBufferCopy(source, file_name);
    what->getPreprocessorOpts().addRemappedFile(file_name, unit->text.get());
    what->getPreprocessorOpts().RetainRemappedFileBuffers = true;  // Clang would lose it when it stops early
    what->getCodeGenOpts().DisableLLVMPasses = true;               // not yet
    unit->instance.setInvocation(what);
    unit->instance.createDiagnostics(&diagnostics.printer(), false);
    unit->instance.setVerboseOutputStream(llvm::nulls());
    clang::EmitLLVMOnlyAction action(&unit->context);
    if (!unit->instance.ExecuteAction(action)) return nullptr;
    unit->module = action.takeModule();
    what->getCodeGenOpts().DisableLLVMPasses = false;
    return unit;
}

struct Object {
    llvm::SmallString<0> bytes;
    std::string log;
    bool failed = false;
};

/// Without a handler of ours LLVM would end the process on an error.
void receive(const llvm::DiagnosticInfo* info, void* context) {
    auto& object = *static_cast<Object*>(context);
    if (info->getSeverity() != llvm::DS_Error && info->getSeverity() != llvm::DS_Warning) return;
    llvm::raw_string_ostream stream(object.log);
    llvm::DiagnosticPrinterRawOStream printer(stream);
    info->print(printer);
    stream << '\n';
    object.failed = object.failed || info->getSeverity() == llvm::DS_Error;
}

void generate(Unit& unit, const Pieces& pieces, std::size_t index, Object& object) {
    Diagnostics diagnostics;
    llvm::LLVMContext context;
    context.setDiagnosticHandlerCallBack(receive, &object);
    const auto module = pieces.piece(index, context);
    auto& instance = unit.instance;
    clang::EmitBackendOutput(diagnostics.engine(), instance.getHeaderSearchOpts(), instance.getCodeGenOpts(), instance.getTargetOpts(),
                             instance.getLangOpts(), instance.getTarget().getDataLayoutString(), module.get(), clang::Backend_EmitObj,
                             llvm::vfs::getRealFileSystem(), std::make_unique<llvm::raw_svector_ostream>(object.bytes));
    object.log += diagnostics.text();
    object.failed = object.failed || diagnostics.engine().hasErrorOccurred();
}

/// Relocatable machine code, a piece each.
std::vector<Object> generate_all(Unit& unit, unsigned max_threads) {
    const Pieces pieces(*unit.module);
    std::vector<Object> objects(pieces.size());
    std::atomic<std::size_t> next = 0;
    const auto work = [&] {
        for (std::size_t k = next++; k < objects.size(); k = next++) generate(unit, pieces, k, objects[k]);
    };
    std::vector<std::thread> threads;
    try {
        while (threads.size() + 1 < std::min<std::size_t>(objects.size(), max_threads)) threads.emplace_back(work);
    } catch (const std::system_error&) {
        // Then with the threads there are.
    }
    work();
    for (auto& thread : threads) thread.join();
    return objects;
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

/// The shared object; empty when it failed, and then `log` says why.
std::string compile(llvm::StringRef source, const std::vector<std::string>& options, const std::string& directory, unsigned threads,
                    std::string& log) {
    const auto& language = language_of(options);
    initialize_target();
    if (language.emulation != nullptr) initialize_amdgpu();
    Diagnostics diagnostics;
    const auto unit = parse(source, options, diagnostics);
    log = diagnostics.text();
    if (!unit) return {};
    std::vector<std::string> inputs;
    for (const auto& object : generate_all(*unit, threads)) {
        log += object.log;
        inputs.push_back(directory + "/kernel" + std::to_string(inputs.size()) + ".o");
        if (object.failed) return {};
        if (!write_file(inputs.back(), object.bytes)) {
            log += "cannot write " + inputs.back() + "\n";
            return {};
        }
    }
    const auto output = directory + "/kernel.so";
    const auto messages = link_shared(inputs, output, language.emulation);
    log += messages;
    if (!messages.empty()) return {};
    const auto linked = llvm::MemoryBuffer::getFile(output, false, false);
    return linked ? (*linked)->getBuffer().str() : std::string();
}

}  // namespace
}  // namespace trifold::clang_plugin

extern "C" __attribute__((visibility("default"))) int trifold_clang_compile(const char* source, size_t source_bytes,
                                                                            const char* const* options, size_t option_count,
                                                                            const char* directory, trifold_clang_result result,
                                                                            void* context, unsigned threads) {
    std::string log;
    const auto shared = trifold::clang_plugin::compile({source, source_bytes}, {options, options + option_count}, directory, threads, log);
    result(context, shared.data(), shared.size(), log.data(), log.size());
    return shared.empty() ? 1 : 0;
}

extern "C" __attribute__((visibility("default"))) const char* trifold_clang_version(void) { return CLANG_VERSION_STRING; }
