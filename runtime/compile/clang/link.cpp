#include "runtime/compile/clang/link.hpp"

#include <dlfcn.h>
#include <lld/Common/CommonLinkerContext.h>
#include <lld/Common/Driver.h>
#include <llvm/Support/raw_ostream.h>

#include <cmath>
#include <cstring>
#include <mutex>

LLD_HAS_DRIVER(elf)

namespace trifold::clang_plugin {
namespace {

/// The C library's file that holds `function` in this process: a runtime has those, but not what -lc and -lm look for.
std::string library_of(const char* function) {
    Dl_info about{};
    void* address = ::dlsym(RTLD_DEFAULT, function);
    return address != nullptr && ::dladdr(address, &about) != 0 ? about.dli_fname : "";
}

}  // namespace

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

}  // namespace trifold::clang_plugin
