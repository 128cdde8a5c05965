#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace [[gnu::visibility("default")]] trifold {

/// Root of every error this library throws. The text says what was asked, what is wrong and what to do.
class Error : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A problem, schedule, target, layout or argument that cannot be served as given.
class SpecError : public Error {
    using Error::Error;
};

/// The generated source did not compile. `what()` carries the compiler, its options, the source's path and its log.
class CompileError : public Error {
  public:
    CompileError(const std::string& message, std::string compiler_log) : Error(message), log(std::move(compiler_log)) {}
    std::string log;
};

/// A kernel that may not be compiled is missing from the cache, or the cache was asked for something impossible. A cache
/// that merely cannot be read or written never throws: it is reported once and bypassed.
class CacheError : public Error {
    using Error::Error;
};

/// No usable device, driver, compiler library or device memory; or a limit of the system, such as that of file descriptors.
class DeviceError : public Error {
    using Error::Error;
};

/// A launch or a copy failed on the device.
class LaunchError : public Error {
    using Error::Error;
};

/// Systems that were computed, but that the caller must not take for solved: the base of all errors that `check` throws.
class Unsolvable : public Error {
    using Error::Error;
};

/// Solver::check found members whose matrix is not positive definite; the others are solved.
class NotPositiveDefinite : public Unsolvable {
  public:
    struct Failure {
        std::int64_t member, block, row;  ///< from 0, original order
    };
    NotPositiveDefinite(const std::string& message, std::vector<Failure> all) : Unsolvable(message), failures(std::move(all)) {}
    std::vector<Failure> failures;
};

/// Solver::check found members whose matrix is singular to the precision: rounding decides their pivots, and so their solution. The others
/// are solved.
class NearlySingular : public Unsolvable {
  public:
    struct Failure {
        std::int64_t member;
        double least_pivot;  ///< the least pivot of the factorization, each over the diagonal entry that it began with
    };
    NearlySingular(const std::string& message, std::vector<Failure> all) : Unsolvable(message), failures(std::move(all)) {}
    std::vector<Failure> failures;
};

/// Solver::check found members of which X or the selected inverse has left the range of the precision; the others are solved.
class OutOfRange : public Unsolvable {
  public:
    struct Failure {
        std::int64_t member;
        bool solution, inverse;  ///< which of them holds infinities or NaN
    };
    OutOfRange(const std::string& message, std::vector<Failure> all) : Unsolvable(message), failures(std::move(all)) {}
    std::vector<Failure> failures;
};

/// Solver::check found members whose solutions mixed precision could not refine to the accuracy of f64; the others are solved.
class NotConverged : public Unsolvable {
  public:
    struct Failure {
        std::int64_t member, iterations;
        double backward_error;  ///< that of the best solution; NaN when there was none
    };
    NotConverged(const std::string& message, std::vector<Failure> all) : Unsolvable(message), failures(std::move(all)) {}
    std::vector<Failure> failures;
};

}  // namespace trifold
