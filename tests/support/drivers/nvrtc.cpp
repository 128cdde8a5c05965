// An NVRTC for the fake driver: a unit's machine code is a shared library of host code for the emulator, which also says what
// parameters kernels have, as cuda.cpp numbers them.
#include <dlfcn.h>
#include <nvrtc.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <trifold/target.hpp>

#include "tests/support/cpu/library.hpp"
#include "tests/support/emulator/unit.hpp"

using namespace trifold::test;

struct _nvrtcProgram {
    std::string source, image, log;
};

namespace {

constexpr int lanes = 32;

nvrtcResult copy_to(char* to, const std::string& text, bool terminated) {
    std::memcpy(to, text.data(), text.size());
    if (terminated) to[text.size()] = '\0';
    return NVRTC_SUCCESS;
}

}  // namespace

extern "C" {

nvrtcResult nvrtcVersion(int* major, int* minor) { return *major = 13, *minor = 0, NVRTC_SUCCESS; }
const char* nvrtcGetErrorString(nvrtcResult) { return "the unit cannot be emulated"; }

nvrtcResult nvrtcCreateProgram(nvrtcProgram* program, const char* source, const char*, int, const char* const*, const char* const*) {
    return *program = new _nvrtcProgram{source, {}, {}}, NVRTC_SUCCESS;
}
nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program) { return delete *program, NVRTC_SUCCESS; }
nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int, const char* const*) {
    try {
        const auto has = [&](const char* text) { return program->source.find(text) != std::string::npos; };
        const int parameters = has("trifold_grid_launch")               ? 3
                               : has("trifold_sparse_launch")           ? 2
                               : has("#define TRIFOLD_SIZES_BY_VALUE ") ? 1
                                                                        : 0;
        const auto note = "\nextern \"C\" const int parameters = " + std::to_string(parameters) + ";\n";
        const auto unit = compile_unit(program->source + note, trifold::Backend::cuda, lanes, false);
        Dl_info about{};
        if (dladdr(dlsym(unit.get(), "emulator"), &about) == 0) throw std::runtime_error("a unit without a file");
        program->image = file_text(about.dli_fname);
        return NVRTC_SUCCESS;
    } catch (const std::exception& error) {
        program->log = error.what();
        return NVRTC_ERROR_COMPILATION;
    }
}
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, std::size_t* bytes) { return *bytes = program->image.size(), NVRTC_SUCCESS; }
nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char* to) { return copy_to(to, program->image, false); }
nvrtcResult nvrtcGetPTXSize(nvrtcProgram, std::size_t* bytes) { return *bytes = 1, NVRTC_SUCCESS; }
nvrtcResult nvrtcGetPTX(nvrtcProgram, char* to) { return copy_to(to, "", true); }
nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, std::size_t* bytes) { return *bytes = program->log.size() + 1, NVRTC_SUCCESS; }
nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char* to) { return copy_to(to, program->log, true); }

}  // extern "C"
