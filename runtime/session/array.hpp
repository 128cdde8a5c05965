#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace trifold {

/// What a call does with an array. `update`: it changes a part and leaves the rest as it was.
enum class Access { read, write, update };

/// The arrays that a call may have.
inline constexpr std::size_t most_arrays = 16;

/// An array of a call.
struct CallArray {
    std::string_view name;  ///< in messages; also names the device's copy of a host array
    const void* data = nullptr;
    std::int64_t bytes = 0;  ///< from its first to past its last element that the call touches
    std::int64_t alignment = 1;
    Access access = Access::read;
    bool optional = false;         ///< it may be null
    std::string_view may_equal{};  ///< the array that this output may be
};

/// Checks all that can be known of the arrays without reading them: null pointers, alignment, and outputs that overlap another array. No
/// array may overlap the workspace. Throws SpecError.
void check_arrays(std::span<const CallArray> arrays, const void* workspace, std::int64_t workspace_bytes);

}  // namespace trifold
