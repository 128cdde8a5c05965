#pragma once
#include <fmt/format.h>
#include <trifold/trifold.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <trifold/device.hpp>
#include <trifold/error.hpp>
#include <trifold/solver.hpp>
#include <trifold/transport.hpp>
#include <vector>

#include "generator/tridiagonal/fields.hpp"
#include "runtime/tridiagonal/family.hpp"

/// Helpers that the functions of trifold.h have in common.
namespace trifold::c {

/// The code of the exception that is being handled, whose text is remembered for trifold_last_error().
trifold_code code_of(const std::exception_ptr& thrown) noexcept;

Executor executor_of(trifold_executor executor, void* user);

/// Runs the body; exceptions become codes.
template <class Body>
trifold_code guarded(Body body) noexcept try {
    body();
    return TRIFOLD_OK;
} catch (...) {
    return code_of(std::current_exception());
}

template <class T>
T& given(T* pointer, const char* what) {
    if (pointer == nullptr) throw SpecError(fmt::format("{} is a null pointer", what));
    return *pointer;
}

/// Structs only grow, at their end: one of another size was not set by its _init function, or by that of a newer library.
template <class T>
const T& initialized(const T* value, const char* name) {
    if (given(value, name).size != sizeof(T))
        throw SpecError(
            fmt::format("{} has size {}; call {}_init first (this library knows {} bytes)", name, value->size, name, sizeof(T)));
    return *value;
}

template <class Enum>
Enum choice(int value, int last, const char* what) {
    check_range(what, value, 0, last);
    return static_cast<Enum>(value);
}
template <class Enum>
Enum choice(int value, const char* what) {
    return choice<Enum>(value, static_cast<int>(names_of<Enum>.size()) - 1, what);
}

template <class From, class To, class Convert>
void copy_out(const std::vector<From>& values, To* out, std::int64_t capacity, std::int64_t* count, Convert convert) {
    const auto size = static_cast<std::int64_t>(values.size());
    if (count != nullptr) *count = size;
    if (out == nullptr && capacity == 0 && count != nullptr) return;
    given(out, "the array for the results");
    if (capacity < size) throw SpecError(fmt::format("{} results do not fit an array of {}", size, capacity));
    std::transform(values.begin(), values.end(), out, convert);
}

/// Set of the operations whose bits are set: bit k is that of value k.
template <class Operation>
std::set<Operation> operations_of(std::uint64_t bits, const std::set<Operation>& all, const char* like) {
    std::set<Operation> result;
    for (const auto operation : all) {
        const auto bit = std::uint64_t{1} << static_cast<int>(operation);
        if ((bits & bit) != 0) result.insert(operation);
        bits &= ~bit;
    }
    if (bits != 0) throw SpecError(fmt::format("operations has the unknown bits {:#x}; give {} and its like", bits, like));
    return result;
}

/// Makes what a handle holds.
template <class Handle, class Make>
trifold_code create(Handle** to, const char* what, Make make) {
    return guarded([&] {
        given(to, what) = nullptr;
        *to = new Handle{make()};
    });
}
/// A call of a solver that returns nothing.
template <class Handle, class Call, class... Argument>
trifold_code call_on(Handle* handle, Call call, Argument... argument) {
    return guarded([&] { std::invoke(call, given(handle, "the solver").solver, argument...); });
}
/// Copies what a solver says of its last call.
template <class Handle, class Read, class To, class Convert = std::identity>
trifold_code read(Handle* handle, Read values, To* out, std::int64_t capacity, std::int64_t* count, Convert convert = {}) {
    return guarded([&] { copy_out(std::invoke(values, given(handle, "the solver").solver), out, capacity, count, convert); });
}
template <class Handle>
trifold_code set_executor(Handle* handle, trifold_executor executor, void* user) {
    return guarded([&] { given(handle, "the solver").solver.set_executor(executor_of(executor, user)); });
}

/// An array of a call: of that size in host memory, where a null pointer is none. In device memory the solver looks at pointers itself.
template <class Real, class Pointer>
std::span<Real> array_of(const trifold_call& call, Pointer* array, std::int64_t size) {
    if (call.on_host == 0) return {static_cast<Real*>(array), 0};
    if (array == nullptr && size > 0) throw SpecError(fmt::format("an array of {} elements is a null pointer", size));
    return {static_cast<Real*>(array), static_cast<std::size_t>(size)};
}

/// The call, whose arrays are in f32 or f64.
inline const trifold_call& call_of_reals(const trifold_call* given_call) {
    const auto& call = initialized(given_call, "trifold_call");
    choice<int>(call.precision, TRIFOLD_F64, "precision");
    return call;
}
/// Calls body(float{}, call) or body(double{}, call), as the call's arrays are.
template <class Body>
void with_reals(const trifold_call* given_call, Body body) {
    const auto& call = call_of_reals(given_call);
    if (call.precision == TRIFOLD_F32)
        body(float{}, call);
    else
        body(double{}, call);
}

[[noreturn]] void refuse_operation(const trifold_call& call, const char* like);

inline AnyArray any_array(const trifold_call& call, const void* data) {
    return {data, call.on_host != 0, call.precision == TRIFOLD_F32 ? Precision::f32 : Precision::f64};
}
CallOptions options_of(const trifold_call& call);
/// Calls run(number of the operation, its arrays), where bit k of a call is the family's operation k. Allocates nothing.
template <class Run>
void run_listed(const trifold_call* given_call, const Family& family, const char* like, Run run) {
    const auto& call = call_of_reals(given_call);
    const auto bit = static_cast<std::size_t>(std::countr_zero(call.operation));
    if (!std::has_single_bit(call.operation) || bit >= family.operations.size()) refuse_operation(call, like);
    const auto rows = family.operations[bit].arrays;
    const auto in = static_cast<std::size_t>(std::ranges::count(rows, Access::read, &ArrayRow::access));
    const auto array = [&](std::size_t k) { return any_array(call, k < in ? call.in[k] : call.out[std::min<std::size_t>(k - in, 1)]); };
    const std::array arrays{array(0), array(1), array(2), array(3)};
    run(static_cast<int>(bit), std::span<const AnyArray>(arrays).first(rows.size()));
}
/// A call of a Solver or RankSolver.
template <class Solver>
void run(Solver& solver, const trifold_call* call) {
    run_listed(call, tridiagonal_family, "TRIFOLD_FACTOR",
               [&](int operation, auto arrays) { solver.run(static_cast<Operation>(operation), arrays, options_of(*call)); });
}

/// Conversions from C structs to Spec and Tuning, and from outcomes to C.
Spec spec_of(const trifold_spec& given_spec);
Tuning tuning_of(const trifold_tuning* given_tuning);
trifold_outcome outcome_of(const Outcome& outcome);
trifold_refinement refinement_of(const Refinement& refined);

/// The caller's functions; on GPUs NCCL, where they carry what it needs to begin.
std::shared_ptr<Transport> transport_of(const trifold_transport& functions, const Device& device);

}  // namespace trifold::c
