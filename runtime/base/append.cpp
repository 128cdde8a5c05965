#include "runtime/base/append.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/base/files.hpp"

namespace trifold {
namespace {

/// A pipe would hold up its writer, or end it.
const char* problem_of(const Descriptor& file) {
    struct stat about{};
    if (!file || ::fstat(file.get(), &about) != 0) return std::strerror(errno);
    return S_ISREG(about.st_mode) || S_ISCHR(about.st_mode) ? nullptr : "it is no file";
}

}  // namespace

const char* append_line(const std::filesystem::path& path, std::string_view line) {
    const auto file = open_to_write(path, O_WRONLY | O_APPEND | O_NONBLOCK);
    if (const auto* why = problem_of(file)) return why;
    while (!line.empty()) {
        const auto count = ::write(file.get(), line.data(), line.size());
        if (count > 0) {
            line.remove_prefix(static_cast<std::size_t>(count));
        } else if (count == 0 || errno != EINTR) {
            return count == 0 ? "nothing more is taken" : std::strerror(errno);
        }
    }
    return nullptr;
}

}  // namespace trifold
