// trifold-hiprtc LIBRARY SOURCE OUTPUT OPTION...: compiles one HIP unit with the hiprtc in LIBRARY and writes the code object. A
// program of its own, because hiprtc ends the process it is in when it meets an architecture or a feature it does not know.
// The log goes to standard output. Exit status 0: done, 1: the source was rejected, 2: no usable hiprtc.
#include <dlfcn.h>
#include <hip/hiprtc.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

constexpr unsigned patience_seconds = 120;  // then SIGALRM ends this process

template <class Function>
bool bind(void* library, Function& function, const char* name) {
    function = reinterpret_cast<Function>(::dlsym(library, name));
    return function != nullptr;
}

/// The entry points used; their types come from hiprtc.h, their addresses from the library.
struct Hiprtc {
    decltype(&hiprtcGetErrorString) error_string;
    decltype(&hiprtcCreateProgram) create;
    decltype(&hiprtcCompileProgram) compile;
    decltype(&hiprtcGetProgramLogSize) log_size;
    decltype(&hiprtcGetProgramLog) log;
    decltype(&hiprtcGetCodeSize) code_size;
    decltype(&hiprtcGetCode) code;

    bool open(void* library) {
        return bind(library, error_string, "hiprtcGetErrorString") && bind(library, create, "hiprtcCreateProgram") &&
               bind(library, compile, "hiprtcCompileProgram") && bind(library, log_size, "hiprtcGetProgramLogSize") &&
               bind(library, log, "hiprtcGetProgramLog") && bind(library, code_size, "hiprtcGetCodeSize") &&
               bind(library, code, "hiprtcGetCode");
    }
};

std::string log_of(const Hiprtc& hiprtc, hiprtcProgram program) {
    std::size_t bytes = 0;
    if (hiprtc.log_size(program, &bytes) != HIPRTC_SUCCESS || bytes == 0) return {};
    std::string log(bytes, '\0');
    if (hiprtc.log(program, log.data()) != HIPRTC_SUCCESS) return {};
    return log.c_str();
}

int compile(const Hiprtc& hiprtc, const std::string& source, const char* output, std::vector<const char*> options) {
    const auto fail = [&](const char* what, hiprtcResult result) {
        std::printf("hiprtc %s: %s\n", what, hiprtc.error_string(result));
        return 1;
    };
    hiprtcProgram program{};
    if (const auto result = hiprtc.create(&program, source.c_str(), "kernel.hip", 0, nullptr, nullptr); result != HIPRTC_SUCCESS)
        return fail("could not take the source", result);
    const auto compiled = hiprtc.compile(program, static_cast<int>(options.size()), options.data());
    std::fputs(log_of(hiprtc, program).c_str(), stdout);
    if (compiled != HIPRTC_SUCCESS) return fail("rejected the source", compiled);
    std::size_t bytes = 0;
    if (const auto result = hiprtc.code_size(program, &bytes); result != HIPRTC_SUCCESS) return fail("has no code", result);
    std::string code(bytes, '\0');
    if (const auto result = hiprtc.code(program, code.data()); result != HIPRTC_SUCCESS) return fail("has no code", result);
    std::ofstream file(output, std::ios::binary);
    file << code;
    file.close();
    if (file.fail()) return std::printf("cannot write %s\n", output), 1;
    return 0;
}

}  // namespace

int main(int count, char** words) {
    if (count < 4) {
        std::fputs("usage: trifold-hiprtc LIBRARY SOURCE OUTPUT OPTION...\n", stderr);
        return 2;
    }
    ::alarm(patience_seconds);
    void* library = ::dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
    Hiprtc hiprtc{};
    if (library == nullptr || !hiprtc.open(library)) {
        std::printf("no hiprtc in %s: %s\n", words[1], library == nullptr ? ::dlerror() : "functions are missing");
        return 2;
    }
    std::ifstream file(words[2], std::ios::binary);
    const std::string source((std::istreambuf_iterator<char>(file)), {});
    if (!file) return std::printf("cannot read %s\n", words[2]), 2;
    const int status = compile(hiprtc, source, words[3], {words + 4, words + count});
    std::fflush(stdout);
    ::_exit(status);  // without the library's destructors, some of which crash
}
