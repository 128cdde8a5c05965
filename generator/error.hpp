#pragma once
#include <stdexcept>
#include <string>

namespace trifold {

/// Root of every error this library throws. The text says what was asked, what is wrong and what to do.
class Error : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A problem, schedule, target, layout or argument that cannot be served as given.
class SpecError : public Error {
    using Error::Error;
};

}  // namespace trifold
