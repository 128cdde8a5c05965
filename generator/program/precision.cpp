#include <fmt/format.h>

#include <trifold/error.hpp>
#include <trifold/precision.hpp>

#include "generator/program/fields.hpp"

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

std::string_view to_string(Precision precision) { return name_of(precision); }
Precision parse_precision(std::string_view text) { return value_named<Precision>(text, "precision"); }

}  // namespace trifold
