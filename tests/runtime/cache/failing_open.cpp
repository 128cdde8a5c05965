// Stands in for the C library's openat, so that errors of the system can be had. Without <fcntl.h>, which may declare it otherwise.
#include "tests/runtime/cache/failing_open.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstring>

namespace {
const char* failing_name = "";
int failing_error = 0;
}  // namespace

void trifold::test::fail_to_open(const char* name, int error) {
    failing_name = name;
    failing_error = error;
}

extern "C" int openat(int directory, const char* name, int flags, ...) {
    if (*failing_name != '\0' && std::strcmp(name, failing_name) == 0) {
        errno = failing_error;
        return -1;
    }
    va_list rest;
    va_start(rest, flags);
    const auto mode = va_arg(rest, unsigned);
    va_end(rest);
    return static_cast<int>(::syscall(SYS_openat, directory, name, flags, mode));
}
