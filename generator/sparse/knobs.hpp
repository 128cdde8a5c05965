#pragma once
#include <span>
#include <string_view>
#include <trifold/sparse_spec.hpp>

#include "generator/program/knob.hpp"

/// Knobs of a sparse system's kernels: a caller may pin them, and a tuner tries them.
namespace trifold::sparse {

/// The one way to factor, and the one variant, that there are: names for records and wisdom, which have both of every family.
inline constexpr std::string_view subdomains = "subdomains", sweeps = "sweeps";

/// The knobs of a backend.
std::span<const Knob> knobs_for(const Target& target);
/// The knobs that the tuning's variant pins. Throws SpecError where it is no variant, or has knobs or values that there are not.
Knobs pinned_by(const SparseTuning& tuning, const Target& target);
/// The value of a knob for a matrix with `rows` rows of blocks.
std::int64_t decide(const Knobs& knobs, const SparseSpec& spec, const Target& target, std::int64_t rows, std::string_view knob);

}  // namespace trifold::sparse
