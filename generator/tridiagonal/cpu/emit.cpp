#include "generator/tridiagonal/emit.hpp"

#include <fmt/format.h>

#include "generator/program/templates.hpp"
#include "generator/tridiagonal/backend.hpp"
#include "generator/tridiagonal/cpu/vectors.hpp"

namespace trifold::cpu {
namespace {

std::string constants_text(const Design& design) {
    const std::vector agreed{constant("SCRATCH_BYTES", design.lowered.scratch_bytes), constant("SIZEOF_LEVEL", sizeof(trifold_level))};
    return define(design, variant_of(design).constants(design)) + define(design, agreed);
}

}  // namespace

std::vector<std::string> compile_options(const Design& design) {
    const auto& target = design.target;
    auto options = unit_options(target);
    const auto more = variant_of(design).options;
    options.insert(options.end(), more.begin(), more.end());
    // Compilers halve explicit 512-bit vectors at this level unless told not to.
    if (vector_bytes(target) == 64) options.push_back("-mprefer-vector-width=512");
    return options;
}

std::vector<std::string> templates(const Design& design) {
    const auto folder = variant_of(design).folder;
    std::vector<std::string> names{fmt::format("cpu/tridiagonal/{}/entry.c", folder)};
    const auto add = [&](std::string_view file) { names.push_back(fmt::format("cpu/tridiagonal/{}/{}.c", folder, file)); };
    const bool has_no_front = has_kernel(design, Phase::adopt);
    if (has_no_front) add("adopt");
    if (has_kernel(design, Phase::inverse)) add(has_no_front ? "release" : "inverse");
    return names;
}

std::string emit(const Design& design, std::span<const PhaseKernel> kernels) {
    return with_constants(emit_prologue(design, kernels) + constants_text(design), paste(templates(design)));
}

std::string emit_static(const Design& design) {
    auto unit = emit(design, design.kernels);
    // The caller is in the same text, so arguments have the size that its compiler gives them, also with pointers of 32 bits.
    constexpr std::string_view size = "#define TRIFOLD_SIZEOF_ARGS ";
    const auto at = unit.find(size) + size.size();
    unit.replace(at, unit.find('\n', at) - at, "sizeof(trifold_args)");
    return "#define TRIFOLD_STATIC_KERNELS\n" + unit.substr(unit.find("#define"));
}

MixedShape mixed_shape(const Spec&) { return {}; }

std::string emit_mixed(const Design& design, const std::string& prologue) {
    return with_constants(prologue + constants_text(design),
                          paste({is_wrapped(design) ? "cpu/tridiagonal/mixed.c" : "cpu/tridiagonal/refine.c"}));
}

}  // namespace trifold::cpu
