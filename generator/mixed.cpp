#include "generator/mixed.hpp"

#include <fmt/format.h>

#include <cmath>

namespace trifold {

Spec inner_spec(const Spec& spec) {
    if (spec.precision != Precision::mixed) return spec;
    return {.block = spec.block,
            .horizon = spec.horizon,
            .precision = Precision::f32,
            .rhs = spec.rhs,
            .batch = spec.batch,
            .operations = spec.operations};
}

double backward_error_bound(std::int64_t block) { return 0x1p-53 * (2 + std::sqrt(3 * static_cast<double>(block))); }

std::string mixed_constants(const Program& program) {
    if (program.spec.precision != Precision::mixed) return {};
    std::string text;
    const auto add = [&](std::string_view name, std::int64_t value) { text += fmt::format("#define TRIFOLD_{} {}LL\n", name, value); };
    const auto add_strides = [&](std::string_view name, const Strides& strides) {
        add(fmt::format("CALLER_{}_ROW", name), strides.row);
        add(fmt::format("CALLER_{}_COLUMN", name), strides.column);
        add(fmt::format("CALLER_{}_STAGE", name), strides.stage);
        add(fmt::format("CALLER_{}_MEMBER", name), strides.member);
    };
    add_strides("D", diagonal_strides(program.spec));
    add_strides("E", coupling_strides(program.spec));
    add("ROUNDS", refinement_rounds);
    return text + fmt::format("#define TRIFOLD_BACKWARD_ERROR {}\n", backward_error_bound(program.spec.block));
}

}  // namespace trifold
