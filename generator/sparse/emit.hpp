#pragma once
#include <string>
#include <string_view>
#include <trifold/sparse_spec.hpp>

/// Functions by which all backends write units.
namespace trifold::sparse {

/// The kind in kernels' names: b3_f64_ildu0_bicgstab.
std::string kind_of(const SparseSpec& spec);
/// Comment at the start of a unit, which says what the unit is for.
std::string title_of(const SparseSpec& spec, const Target& target);
/// Lines of the constants that all backends have.
std::string common_constants(const SparseSpec& spec);
/// The line that tells a unit the name of one of its kernels.
std::string define_kernel(std::string_view kernel, std::string_view name);

}  // namespace trifold::sparse
