#pragma once
#include <cmath>

#include "tests/support/cpu/problem.hpp"

namespace trifold::test {

/// A system in other units: A times 2^matrix, b times 2^rhs and, by congruence, the unknowns of one block times 2^-stage.
struct Units {
    int matrix = 0, rhs = 0, stage = 0;
};

/// The block that has units of its own.
inline std::int64_t odd_block(const Spec& spec) { return spec.horizon / 2; }

inline double power(int exponent) { return std::ldexp(1.0, exponent); }

inline System scaled(System system, const Units& units, const Spec& spec) {
    const double a = power(units.matrix), s = power(units.stage);
    const auto odd = static_cast<std::size_t>(odd_block(spec));
    for (auto& d : system.d) d *= a;
    for (auto& e : system.e) e *= a;
    system.b *= power(units.rhs);
    system.d[odd] = system.d[odd] * s * s;
    if (odd > 0) system.e[odd - 1] *= s;
    if (odd < system.e.size()) system.e[odd] *= s;
    system.b.middleRows(odd_block(spec) * spec.block, spec.block) *= s;
    return system;
}

/// Exponents over what is promised, in equal parts either way: 1e-36 to 1e36 in f32, 1e-300 to 1e300 in f64; of a block's units half of
/// that.
template <class Real>
std::vector<Units> promised(int parts) {
    const int most = sizeof(Real) == 8 ? 996 : 119;
    std::vector<Units> result{{}};
    for (int part = -parts; part <= parts; ++part) {
        if (part == 0) continue;
        const int e = most * part / parts, half = e / 2;
        result.insert(result.end(),
                      {{e, e, 0}, {e, 0, 0}, {e, half, 0}, {0, e, 0}, {0, 0, half}, {half, half, half / 2}, {-half, 0, half / 2}});
    }
    return result;
}

/// Unknowns in the units of scale 1.
inline Matrix at_scale_one(Matrix x, const Units& units, const Spec& spec) {
    const int all = units.matrix - units.rhs;
    x = x * power(all / 2) * power(all - all / 2);  // the power itself could leave the range
    x.middleRows(odd_block(spec) * spec.block, spec.block) *= power(units.stage);
    return x;
}

}  // namespace trifold::test
