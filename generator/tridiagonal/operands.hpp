#pragma once
#include <trifold/tridiagonal_args.h>

#include <array>
#include <trifold/generate.hpp>

namespace trifold {

/// The arrays that a launch works on (Launch::operands): the caller's; the caller's, reading X as B; the copies in f32 in the workspace of
/// a mixed Program.
enum class Operands : std::size_t { caller, caller_in_x, copies };

/// The operands of one call, by Operands. Allocates nothing.
std::array<trifold_args, 3> operands_of(const Choice& choice, const std::vector<Buffer>& buffers, const trifold_args& caller);

}  // namespace trifold
