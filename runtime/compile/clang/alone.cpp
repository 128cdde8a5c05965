// Functions that the library defines itself when all of LLVM is linked into it.
#include <llvm/Passes/PassPlugin.h>

// Debian's Clang asks Polly for its passes. Kernels need none, and it would be a tenth of the library.
llvm::PassPluginLibraryInfo __attribute__((visibility("hidden"))) getPollyPluginInfo() {
    return {LLVM_PLUGIN_API_VERSION, "no Polly", "0", [](llvm::PassBuilder&) {}};
}

// LLD asks for every target that Debian builds. Those that kernels are never compiled for stay out; CMake lists them.
#define ABSENT(target)                                                                            \
    extern "C" __attribute__((visibility("hidden"))) void LLVMInitialize##target##TargetInfo() {} \
    extern "C" __attribute__((visibility("hidden"))) void LLVMInitialize##target##Target() {}     \
    extern "C" __attribute__((visibility("hidden"))) void LLVMInitialize##target##TargetMC() {}   \
    extern "C" __attribute__((visibility("hidden"))) void LLVMInitialize##target##AsmPrinter() {} \
    extern "C" __attribute__((visibility("hidden"))) void LLVMInitialize##target##AsmParser() {}
TRIFOLD_ABSENT_TARGETS
