#pragma once
#include <fmt/format.h>
#include <trifold/trifold.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <trifold/device.hpp>
#include <trifold/error.hpp>
#include <vector>

/// What the functions of trifold.h have in common.
namespace trifold::c {

/// The code of the exception that is being handled, whose text is remembered for trifold_last_error().
trifold_code code_of(const std::exception_ptr& thrown) noexcept;

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
    if (value < 0 || value > last) throw SpecError(fmt::format("{} = {} is out of range; give 0 to {}", what, value, last));
    return static_cast<Enum>(value);
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

Executor executor_of(trifold_executor executor, void* user);

}  // namespace trifold::c
