#pragma once
#include <trifold/tridiagonal_args.h>

#include <array>
#include <span>
#include <string_view>
#include <trifold/solver.hpp>
#include <trifold/spec.hpp>
#include <vector>

#include "runtime/session/array.hpp"

namespace trifold {

/// The caller's arrays.
enum class Array { d, e, b, x, diagonal, shift, active, inverse_diagonal, inverse_coupling, f, c, tip_b, tip_x, lengths, sizes, u };
inline constexpr std::size_t array_count = 16;
const char* to_string(Array array);

/// A caller's request.
struct Request {
    Operation operation;
    std::int64_t members = 0, columns = 0;  ///< 0: the Spec's; resolved by resolve()
    double pivot_floor = 0;
    bool accept_nearly_singular = false;
    std::int64_t first_block = 0, blocks = 0;  ///< those of load; there may be one block less of E
    std::array<const void*, array_count> arrays{};
    const void*& operator[](Array array) { return arrays[static_cast<std::size_t>(array)]; }
    const void* operator[](Array array) const { return arrays[static_cast<std::size_t>(array)]; }
};

constexpr bool factors(Operation operation) {
    return operation == Operation::factor || operation == Operation::factor_forward || operation == Operation::factor_solve;
}
constexpr bool sweeps(Operation operation) {
    return operation != Operation::factor && operation != Operation::inverse && operation != Operation::load;
}
constexpr bool solves(Operation operation) {
    return sweeps(operation) && operation != Operation::forward && operation != Operation::factor_forward;
}
/// Whether b' A^-1 b of its right-hand sides comes with it.
constexpr bool sweeps_forward(Operation operation) {
    return sweeps(operation) && operation != Operation::backward && operation != Operation::refine;
}

/// The arrays of an operation, as a caller lists them.
std::span<const Array> listed(Operation operation);
/// A request that is not resolved. Throws SpecError where the arrays are of another number, or of another precision than the Spec's.
Request request_of(const Spec& spec, Operation operation, std::span<const AnyArray> arrays, const CallOptions& options);

/// The arrays of a resolved request. Allocates nothing.
class RequestArrays {
  public:
    RequestArrays(const Spec& spec, const Request& request);
    std::span<const CallArray> list() const { return {list_.data(), count_}; }
    Array at(std::size_t k) const { return kinds_[k]; }

  private:
    void add(const Request& request, Array array, std::int64_t bytes, std::int64_t alignment);
    std::array<CallArray, array_count> list_;
    std::array<Array, array_count> kinds_;
    std::size_t count_ = 0;
};

/// Fills in members and columns; throws SpecError when an option is out of range.
void resolve(const Spec& spec, Request& request);
/// Arguments of the kernels for the `columns` columns from `first` on.
trifold_args panel_args(const Spec& spec, const Request& request, std::int64_t first, std::int64_t columns, void* workspace);

/// Strides of the tip's right-hand sides, of which a member has `columns`.
trifold_strides tip_strides(const Spec& spec, std::int64_t columns);

/// Throws SpecError with the first of the lengths in host memory that is not from 0 to N, or of the sizes that is not from 0 to n, unless
/// its member is left out.
void check_lengths(const Spec& spec, const Request& request);
/// Throws NotPositiveDefinite, NearlySingular or OutOfRange where a member has not been solved.
void check_outcomes(const std::vector<Outcome>& members, const Spec& spec);

}  // namespace trifold
