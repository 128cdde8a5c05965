#pragma once
#include <trifold/tridiagonal_args.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <trifold/generate.hpp>
#include <trifold/program.hpp>
#include <trifold/spec.hpp>

namespace trifold {

/// Places in trifold_args::sizes.
inline constexpr std::size_t open_size_count = 60;

/// The place in trifold_args::sizes of a constant of the templates, named without its TRIFOLD_. Nothing where it changes instructions, so
/// that it is a literal of every text.
std::optional<std::size_t> place_of_open_size(std::string_view constant);

/// 2^64 / divisor, rounded up: the upper half of its product with x is x / divisor, as long as x times the divisor is below 2^64. 0 for 1.
/// Division by a number that is no literal takes GPUs a hundred instructions.
std::uint64_t reciprocal_of(std::int64_t divisor);

/// Right-hand sides that kernels are made for: `rhs` rounded up to a class, so that one text serves the whole class.
std::int64_t columns_class(std::int64_t rhs);

/// The arrays that a launch works on (Launch::operands): the caller's; the caller's, reading X as B; the copies in f32 in the workspace of
/// a mixed Program, or the residual in that of one that refines.
enum class Operands : std::size_t { caller, caller_in_x, copies };

/// The operands of one call, by Operands. Allocates nothing. `columns`: the right-hand sides that kernels are made for (columns_at_once).
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
/// Sets the open sizes, which live as long as the Program. `set`: of the Program's sets, where it has several.
void set_sizes(KernelArgs& args, const Program& program, std::size_t set = 0);
/// Sets all else.
inline void set_args(KernelArgs& args, const trifold_args& from) {
    std::memcpy(static_cast<void*>(&args), &from, offsetof(trifold_args, sizes));
}

/// Right-hand sides of a panel of a CPU's kernels: a Spec's rhs, rounded up to one of a few widths. More go in several panels, since what
/// a panel is to a system should stay in the caches between its sweeps. There are `most` only where each worker has as many.
std::int64_t panel_columns(std::int64_t rhs, std::int64_t most, std::int64_t workers = 1);
/// Right-hand sides that kernels are made for, in one call. On a CPU it is a panel, or one for each worker. On a GPU they are those of
/// kernel_spec, or a power of two up to the variant's most columns.
std::int64_t columns_at_once(const Choice& choice);

}  // namespace trifold
