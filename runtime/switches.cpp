#include "runtime/switches.hpp"

#include <array>
#include <cstdlib>

#include "runtime/environment.hpp"

namespace trifold {
namespace {

constexpr std::array table{
    Switch{"TRIFOLD_CACHE_DIR", "directory",
           "where compiled kernels are kept; default $XDG_CACHE_HOME/trifold, then $HOME/.cache/trifold, then memory only"},
    Switch{"TRIFOLD_CACHE_SIZE", "bytes, or a number with K, M or G", "bound of the cache directory; default 1G"},
    Switch{"TRIFOLD_BINARIES", "directory", "read-only second tier: binaries shipped with a deployment, in the cache's layout"},
    Switch{"TRIFOLD_DISABLE", "jit,cache,clang,hiprtc,graph",
           "jit: never compile, a missing kernel is an error; cache: neither read nor write the directory; clang: use the system's C "
           "compiler, and for HIP only hiprtc; hiprtc: compile HIP kernels with Clang; graph: launch a GPU's kernels one by one"},
    Switch{"TRIFOLD_DUMP", "source,ptx,sass,log,keys",
           "write these for every kernel obtained; ptx and sass need a compilation or a disassembler"},
    Switch{"TRIFOLD_DUMP_DIR", "directory", "where dumps go; default: the cache directory's dump/, else the working directory"},
    Switch{"TRIFOLD_LOG", "off|error|warning|info|debug[:FILE]",
           "messages up to this level go to standard error, or are appended to FILE; default warning"},
    Switch{"TRIFOLD_EXTERNAL_SOURCE", "file", "compile this hand-edited source instead of the generated one"},
    Switch{"TRIFOLD_CC", "command or path", "the C compiler to use for CPU kernels, instead of Clang in process"},
    Switch{"TRIFOLD_CLANG", "file", "libtrifold_clang.so, the part of this library that holds Clang"},
    Switch{"TRIFOLD_NVRTC", "file or directory", "libnvrtc, or the directory that holds it"},
    Switch{"TRIFOLD_HIPRTC", "file or directory", "libhiprtc or libamdhip64, or the directory that holds it"},
    Switch{"TRIFOLD_SPIN", "microseconds, 0 to 1000000",
           "how long idle threads of a CPU Solver stay awake after a call, where Tuning does not say; default 1000. Shorter leaves their "
           "cores "
           "to others, but a call that has to wake them waits 50 to 100 us"},
    Switch{"TRIFOLD_PEERS", "directories, separated by colons", "where trifold bench looks for its peers' libraries first"},
};

bool listed(const char* name, std::string_view word) {
    const auto value = switch_value(name);
    std::string_view rest = value;
    while (!rest.empty()) {
        const auto comma = rest.find(',');
        if (rest.substr(0, comma) == word) return true;
        if (comma == std::string_view::npos) break;
        rest.remove_prefix(comma + 1);
    }
    return false;
}

}  // namespace

std::span<const Switch> switches() { return table; }

std::string switch_value(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

bool disabled(std::string_view word) { return listed("TRIFOLD_DISABLE", word); }
bool dumped(std::string_view word) { return listed("TRIFOLD_DUMP", word); }

}  // namespace trifold
