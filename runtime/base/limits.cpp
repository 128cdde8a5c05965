#include "runtime/base/limits.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <trifold/error.hpp>

#include "runtime/base/files.hpp"

namespace trifold {
namespace {

/// The soft limit of this process, for a message; empty where there is none.
std::string limit_of(__rlimit_resource_t resource) {
    rlimit limit{};
    return ::getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ? std::string() : std::to_string(limit.rlim_cur);
}

std::string with_limit(const std::string& text, __rlimit_resource_t resource, const char* command) {
    const auto limit = limit_of(resource);
    return limit.empty() ? text : fmt::format("{}: the limit is {} ({})", text, limit, command);
}

}  // namespace

std::string why_refused(int error) {
    switch (error) {
        case EMFILE:
            return with_limit("no file descriptors left", RLIMIT_NOFILE, "ulimit -n");
        case ENFILE:
            return "no file descriptors left on this machine (sysctl fs.file-max)";
        case EAGAIN:
            return with_limit("no more processes or threads, here or in this container (pids.max)", RLIMIT_NPROC, "ulimit -u");
        case ENOMEM:
            return with_limit("no memory left", RLIMIT_AS, "ulimit -v");
        case EFBIG:
            return with_limit("the file is too large", RLIMIT_FSIZE, "ulimit -f");
        default:
            return std::strerror(error);
    }
}

void throw_refused(const std::string& what, int error) { throw DeviceError(fmt::format("{}: {}", what, why_refused(error))); }

void throw_refused(const std::system_error& error) {
    const auto& code = error.code();
    const bool known = code.category() == std::generic_category() || code.category() == std::system_category();
    throw DeviceError(known ? fmt::format("{}: {}", error.what(), why_refused(code.value())) : error.what());
}

void check_descriptors(const std::string& what) {
    std::array<Descriptor, 8> probes;  // more than a compiler or a driver has open at a time
    for (auto& probe : probes) {
        probe = Descriptor(::open("/", O_PATH | O_CLOEXEC));
        if (!probe && (errno == EMFILE || errno == ENFILE))
            throw DeviceError(fmt::format("cannot {}: hardly any or {}", what, why_refused(errno)));
    }
}

}  // namespace trifold
