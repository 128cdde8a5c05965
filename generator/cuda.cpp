#include "generator/backend.hpp"

namespace trifold::cuda {

Variant choose_variant(const Spec& spec, const Target&, const Tuning&, const Schedule&) {
    const auto n = spec.block;
    Variant variant{"plain", {}, {n * n, n * n, n * n, n * n, n * spec.rhs}, 0, spec.batch};
    for (const auto phase : phases) variant.shapes[phase] = {};
    return variant;
}

std::vector<std::string> compile_options(const Target& target) { return {"-arch=" + target.arch}; }

std::string emit(const Program& program) { return emit_prologue(program); }

}  // namespace trifold::cuda
