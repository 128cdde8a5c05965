#pragma once
#include <string>
#include <system_error>

namespace trifold {

/// Why the operating system refused something: the limit that was reached, with the command that shows it, or the meaning of the error
/// number.
std::string why_refused(int error);

/// Throws DeviceError, such as "cannot make a pipe: no file descriptors left: the limit is 64 (ulimit -n)".
[[noreturn]] void throw_refused(const std::string& what, int error);
/// Throws the error of the standard library as a DeviceError, for public functions, which throw errors of Trifold only.
[[noreturn]] void throw_refused(const std::system_error& error);

/// Throws DeviceError where hardly any file descriptor is left: that is why `what` failed. For what fails without an error number, such as
/// a library that cannot be opened.
void check_descriptors(const std::string& what);

}  // namespace trifold
