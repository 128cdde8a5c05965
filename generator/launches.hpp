#pragma once
#include <cstddef>
#include <trifold/program.hpp>
#include <vector>

namespace trifold {

/// The phases that the Spec's operations need, in the order of `phases` and `mixed_phases`.
std::vector<Phase> phases_of(const Spec& spec, const Variant& variant);

/// Where the Program has the kernel of a phase; beyond the last where it has none.
std::size_t kernel_index(const Program& program, Phase phase);

/// An operation as launches with their dependencies, of a Program that has its kernels.
std::vector<Launch> build_operation(const Program& program, Operation operation);

}  // namespace trifold
