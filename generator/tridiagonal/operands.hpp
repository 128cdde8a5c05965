#pragma once
#include <trifold/tridiagonal_args.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <trifold/program.hpp>
#include <trifold/spec.hpp>

#include "generator/tridiagonal/open_sizes.hpp"

namespace trifold {

/// The arrays that a launch works on (Launch::operands): the caller's; the caller's, reading X as B; the copies in f32 in the workspace of
/// a mixed Program.
enum class Operands : std::size_t { caller, caller_in_x, copies };

/// The operands of one call, by Operands. Allocates nothing. `columns`: the right-hand sides that kernels are made for, of kernel_spec.
std::array<trifold_args, 3> operands_of(const Spec& spec, std::int64_t columns, const std::vector<Buffer>& buffers,
                                        const trifold_args& caller);

/// The first parameter of a kernel: its arguments with the open sizes of its Program behind them, by value on GPUs.
struct KernelArgs {
    trifold_args args;
    trifold_int more_sizes[open_size_count - 1];
};
static_assert(sizeof(KernelArgs) == offsetof(trifold_args, sizes) + open_size_count * sizeof(trifold_int));

/// Whether kernels have the open sizes by value.
bool takes_sizes_by_value(const Program& program);
/// Bytes of a kernel's first parameter.
std::size_t bytes_of_args(const Program& program);
/// Sets the open sizes, which live as long as the Program.
void set_sizes(KernelArgs& args, const Program& program);
/// Sets all else.
inline void set_args(KernelArgs& args, const trifold_args& from) {
    std::memcpy(static_cast<void*>(&args), &from, offsetof(trifold_args, sizes));
}

}  // namespace trifold
