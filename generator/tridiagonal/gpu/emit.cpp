#include "generator/tridiagonal/emit.hpp"

#include <fmt/format.h>

#include "generator/program/require.hpp"
#include "generator/program/templates.hpp"
#include "generator/tridiagonal/backend.hpp"
#include "generator/tridiagonal/gpu/sizes.hpp"

namespace trifold::gpu {
namespace {

/// Rows of a block that threads of one thread block have, one each, in the kernels of mixed precision.
struct Parts {
    static constexpr std::int64_t threads = 128, shared = 3 * threads * 8;
    explicit Parts(std::int64_t block)
        : count((block + threads - 1) / threads), rows((block + count - 1) / count), together(threads / rows) {}
    std::int64_t count, rows, together;  ///< parts of a block; rows of a part; parts of one thread block
};

}  // namespace

std::vector<std::string> compile_options(const Design& design) { return unit_options(design.target); }

std::vector<std::string> templates(const Design& design) {
    const auto folder = variant_of(design).folder;
    std::vector<std::string> names{fmt::format("gpu/tridiagonal/{}/entry.cuh", folder)};
    if (has_inverse(design))
        names.push_back(has_kernel(design, Phase::inverse) ? "gpu/tridiagonal/inverse.cuh" : "gpu/tridiagonal/inverse_tiles.cuh");
    if (has_kernel(design, Phase::factor_wide)) names.push_back(fmt::format("gpu/tridiagonal/{}/wide.cuh", folder));
    return names;
}

std::string emit(const Design& design, std::span<const PhaseKernel> kernels) {
    const auto& variant = variant_of(design);
    return with_constants(emit_prologue(design, kernels) + define(design, variant.constants(design)),
                          paste(templates(design), platform_of(design.target)));
}

MixedShape mixed_shape(const Spec& spec) {
    const Parts parts(spec.block);
    require(parts.together >= 1 && parts.together * parts.rows <= parts.threads && parts.count * parts.rows >= spec.block,
            "{} threads have {} parts of {} rows, and a block of {} has {}", parts.threads, parts.together, parts.rows, spec.block,
            parts.count);
    return {parts.count, parts.together, members_per_group(spec), static_cast<int>(parts.threads), parts.shared};
}

std::string emit_mixed(const Design& design, const std::string& prologue) {
    const Parts parts(design.spec.block);
    const std::vector constants{constant("MIXED_THREADS", parts.threads), constant("PART_ROWS", parts.rows),
                                constant("ROW_PARTS", parts.count), constant("MIXED_MEMBERS", members_per_group(design.spec))};
    return with_constants(
        prologue + define(design, variant_of(design).constants(design)) + define(design, constants),
        paste({is_wrapped(design) ? "gpu/tridiagonal/mixed.cuh" : "gpu/tridiagonal/refine.cuh"}, platform_of(design.target)));
}

}  // namespace trifold::gpu
