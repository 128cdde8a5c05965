#include <fmt/format.h>

#include <trifold/error.hpp>
#include <trifold/precision.hpp>

namespace trifold {

std::int64_t checked_multiply(std::int64_t a, std::int64_t b, std::string_view what) {
    std::int64_t result = 0;
    if (__builtin_mul_overflow(a, b, &result)) throw SpecError(fmt::format("{}: {} x {} is too large for a 64-bit size", what, a, b));
    return result;
}

std::int64_t checked_add(std::int64_t a, std::int64_t b, std::string_view what) {
    std::int64_t result = 0;
    if (__builtin_add_overflow(a, b, &result)) throw SpecError(fmt::format("{}: {} + {} is too large for a 64-bit size", what, a, b));
    return result;
}

std::int64_t element_bytes(Precision precision) { return precision == Precision::f32 ? 4 : 8; }

std::string_view to_string(Precision precision) {
    return precision == Precision::f32 ? "f32" : precision == Precision::f64 ? "f64" : "mixed";
}

Precision parse_precision(std::string_view text) {
    if (text == "f32") return Precision::f32;
    if (text == "f64") return Precision::f64;
    if (text == "mixed") return Precision::mixed;
    throw SpecError(fmt::format("unknown precision '{}'; give f32, f64 or mixed", text));
}

}  // namespace trifold
