#pragma once
#include <array>
#include <trifold/program.hpp>

namespace trifold {

/// The arrays that a launch works on: the caller's; the same, reading X as B; the copies in f32 in the workspace of a mixed Program.
enum class Operands { caller, caller_in_x, copies };

/// A backward sweep starts from what a forward sweep of the same operation left in X.
Operands operands_of(const Spec& spec, Operation operation, Phase phase);

/// What the launches of one call get. Allocates nothing.
class LaunchArgs {
  public:
    LaunchArgs(const Spec& spec, const std::vector<Buffer>& buffers, const trifold_args& caller);
    const trifold_args& operator[](Operands operands) const { return args_[static_cast<std::size_t>(operands)]; }

  private:
    std::array<trifold_args, 3> args_;
};

}  // namespace trifold
