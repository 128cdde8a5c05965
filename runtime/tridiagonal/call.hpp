#pragma once
#include <trifold/tridiagonal_args.h>

#include <array>
#include <span>
#include <string_view>
#include <trifold/program.hpp>
#include <trifold/spec.hpp>

namespace trifold {

/// The caller's arrays.
enum class Array { d, e, b, x, diagonal, shift, active, inverse_diagonal, inverse_coupling };
inline constexpr std::size_t array_count = 9;
std::string_view to_string(Array array);

/// What a caller asks for.
struct Call {
    Operation operation;
    std::int64_t members = 0, columns = 0;  ///< 0: the Spec's; resolved by resolve()
    double pivot_floor = 0;
    bool accept_nearly_singular = false;
    std::array<const void*, array_count> arrays{};
    const void*& operator[](Array array) { return arrays[static_cast<std::size_t>(array)]; }
    const void* operator[](Array array) const { return arrays[static_cast<std::size_t>(array)]; }
};

/// An array that a call touches.
struct ArrayUse {
    Array array;
    std::int64_t bytes;  ///< from its first to past its last element that is touched
    int alignment;
    bool written, optional;
};

constexpr bool factors(Operation operation) {
    return operation == Operation::factor || operation == Operation::factor_forward || operation == Operation::factor_solve;
}
constexpr bool sweeps(Operation operation) { return operation != Operation::factor && operation != Operation::inverse; }
constexpr bool solves(Operation operation) {
    return sweeps(operation) && operation != Operation::forward && operation != Operation::factor_forward;
}
constexpr bool sweeps_forward(Operation operation) { return sweeps(operation) && operation != Operation::backward; }

/// The arrays of a resolved call. Allocates nothing.
class ArrayUses {
  public:
    ArrayUses(const Spec& spec, const Call& call);
    const ArrayUse* begin() const { return uses_.data(); }
    const ArrayUse* end() const { return uses_.data() + count_; }

  private:
    std::array<ArrayUse, array_count> uses_;
    std::size_t count_ = 0;
};

/// Fills in members and columns; throws SpecError when an option is out of range.
void resolve(const Spec& spec, Call& call);
/// Checks all that can be known of the arrays without reading them. Throws SpecError.
void check_arrays(const Spec& spec, std::int64_t workspace_bytes, const Call& call, const void* workspace);
/// What the kernels get for the `columns` columns from `first` on.
trifold_args panel_args(const Spec& spec, const Call& call, std::int64_t first, std::int64_t columns, void* workspace);

}  // namespace trifold
