#include "runtime/session/array.hpp"

#include <fmt/format.h>

#include <string_view>
#include <trifold/error.hpp>

namespace trifold {
namespace {

void check_pointer(const CallArray& array) {
    const auto address = reinterpret_cast<std::uintptr_t>(array.data);
    if (address == 0 && array.bytes > 0 && !array.optional)
        throw SpecError(fmt::format("{} is a null pointer; it must hold {} bytes", array.name, array.bytes));
    if ((address & (static_cast<std::uintptr_t>(array.alignment) - 1)) != 0)
        throw SpecError(fmt::format("{} is not aligned to its elements of {} bytes", array.name, array.alignment));
}

bool overlap(const void* a, std::int64_t a_bytes, const void* b, std::int64_t b_bytes) {
    const auto first = reinterpret_cast<std::uintptr_t>(a), second = reinterpret_cast<std::uintptr_t>(b);
    if (first == 0 || second == 0 || a_bytes == 0 || b_bytes == 0) return false;
    return first < second ? second - first < static_cast<std::uintptr_t>(a_bytes) : first - second < static_cast<std::uintptr_t>(b_bytes);
}

void check_output(const CallArray& out, std::span<const CallArray> arrays) {
    for (const auto& other : arrays) {
        const bool in_place = out.data == other.data && out.may_equal != nullptr && std::string_view(out.may_equal) == other.name;
        if (&out == &other || in_place || !overlap(out.data, out.bytes, other.data, other.bytes)) continue;
        throw SpecError(fmt::format("{} ({} bytes) overlaps {} ({} bytes){}", out.name, out.bytes, other.name, other.bytes,
                                    out.may_equal == nullptr ? "" : fmt::format("; only {} may be {} itself", out.name, out.may_equal)));
    }
}

}  // namespace

void resolve_count(std::int64_t& value, std::int64_t standard, std::int64_t most, const char* option) {
    if (value < 0 || value > most)
        throw SpecError(fmt::format("{} = {} is out of range; give 1 to {}, or 0 for {}", option, value, most, standard));
    if (value == 0) value = standard;
}

void check_arrays(std::span<const CallArray> arrays, const void* workspace, std::int64_t workspace_bytes) {
    for (const auto& array : arrays) {
        check_pointer(array);
        if (array.access != Access::read) check_output(array, arrays);
        if (overlap(array.data, array.bytes, workspace, workspace_bytes))
            throw SpecError(fmt::format("{} ({} bytes) overlaps the workspace ({} bytes)", array.name, array.bytes, workspace_bytes));
    }
}

}  // namespace trifold
