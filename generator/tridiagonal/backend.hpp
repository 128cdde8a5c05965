#pragma once
#include <span>
#include <string>
#include <vector>

#include "generator/tridiagonal/design.hpp"

/// Functions that CPUs and GPUs have each in their own way. Within this family the two differ nowhere else.
namespace trifold {

/// How the kernels of mixed precision cut their work: a block's rows in parts.
struct MixedShape {
    std::int64_t row_parts = 1;                               ///< parts of a block
    std::int64_t parts_per_group = 1, members_per_group = 1;  ///< as Shape's chains and members of a task
    int threads = 1;                                          ///< threads of one thread block (GPU)
    std::int64_t shared_bytes = 0;                            ///< dynamic shared memory of one thread block (GPU)
};

namespace cpu {
std::vector<std::string> compile_options(const Design& design);
/// The templates with its kernels, and the selected inverse where it is asked for; they name the others that they need.
std::vector<std::string> templates(const Design& design);
/// The unit with these kernels.
std::string emit(const Design& design, std::span<const PhaseKernel> kernels);
/// The whole unit without the header comment and with every kernel static, to be called from the unit that it becomes part of.
std::string emit_static(const Design& design);
MixedShape mixed_shape(const Spec& spec);
/// The unit of the kernels of mixed precision, or of those that refine, from what it begins with: a comment, constants and names of
/// kernels.
std::string emit_mixed(const Design& design, const std::string& prologue);
}  // namespace cpu

namespace gpu {
std::vector<std::string> compile_options(const Design& design);
std::vector<std::string> templates(const Design& design);
std::string emit(const Design& design, std::span<const PhaseKernel> kernels);
MixedShape mixed_shape(const Spec& spec);
std::string emit_mixed(const Design& design, const std::string& prologue);
}  // namespace gpu

}  // namespace trifold
