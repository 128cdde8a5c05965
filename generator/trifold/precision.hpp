#pragma once
#include <cstdint>
#include <string_view>

/// Types and functions that the Specs of all families need.
namespace [[gnu::visibility("default")]] trifold {

/// `mixed`: arrays in f64, factored in f32, each solution refined to the accuracy of f64.
enum class Precision { f32, f64, mixed };

/// Bytes of an element of the caller's arrays.
std::int64_t element_bytes(Precision precision);
std::string_view to_string(Precision precision);
/// "f32", "f64" or "mixed"; throws SpecError on anything else.
Precision parse_precision(std::string_view text);

/// a * b and a + b of non-negative sizes; throws SpecError naming `what` when the result leaves 63 bits.
std::int64_t checked_multiply(std::int64_t a, std::int64_t b, std::string_view what);
std::int64_t checked_add(std::int64_t a, std::int64_t b, std::string_view what);

/// Throws SpecError where the value is below the least or above the most: "workers = 0 is out of range; give 1 to 1024".
void check_range(std::string_view name, std::int64_t value, std::int64_t least, std::int64_t most = INT64_MAX);

}  // namespace trifold
