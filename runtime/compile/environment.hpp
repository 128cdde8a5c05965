#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trifold {

/// A compiler or library that was looked for.
struct ToolReport {
    std::string name;     ///< such as "clang (in process)", "cc", "nvrtc"
    std::string purpose;  ///< the reason for which it is needed
    bool found = false;
    std::string version;  ///< exact
    std::string path;
    std::string advice;  ///< says what to install or set when it is missing
};

struct CacheReport {
    std::string path;  ///< empty: memory only
    std::string from;  ///< the variable that named it, such as TRIFOLD_CACHE_DIR
    bool writable = false;
    std::string problem;  ///< why it is not used, or not written to
    std::int64_t entries = 0, bytes = 0, limit_bytes = 0;
    std::vector<std::string> layers;  ///< directories of kernels that are only read, in the order in which they are looked at
};

/// The layers alone, which takes no while.
std::vector<std::string> probe_layers();

struct Environment {
    std::vector<ToolReport>
        tools;  ///< in-process Clang, system C compiler, NVRTC, hiprtc, METIS; the driver and devices are Device's to report
    CacheReport cache;
};

/// Finds what `trifold doctor` prints. Loads every compiler, so it takes a while. Never throws for what is missing.
Environment probe_environment();

}  // namespace trifold
