#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace trifold {

/// A call reads, writes or updates an array. `update`: it changes a part and leaves the rest as it was.
enum class Access : unsigned char { read, write, update };

/// The arrays that a call may have.
inline constexpr std::size_t max_arrays = 16;

/// An array of a call. Fields left out are zero. It is built at every call, so it owns nothing and allocates nothing.
struct CallArray {
    const char* name;  ///< in messages; also names the device's copy of a host array
    const void* data;
    std::int64_t bytes;  ///< from its first to past its last element that the call touches
    int alignment;       ///< a power of two
    Access access;
    bool optional;          ///< it may be null
    const char* may_equal;  ///< the name of the array that this output may be
};

/// Puts `standard` where a caller's option is 0. Throws SpecError where it is negative or beyond `most`.
void resolve_count(std::int64_t& value, std::int64_t standard, std::int64_t most, const char* option);
/// Checks all that can be known of the arrays without reading them: null pointers, alignment, and outputs that overlap another array. No
/// array may overlap the workspace. Throws SpecError.
void check_arrays(std::span<const CallArray> arrays, const void* workspace, std::int64_t workspace_bytes);

}  // namespace trifold
