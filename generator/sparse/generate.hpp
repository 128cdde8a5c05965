#pragma once
#include <trifold/sparse_spec.hpp>

#include "generator/sparse/arrangement.hpp"
#include "generator/sparse/layout.hpp"

namespace trifold::sparse {

/// A Program, and what its buffers must hold before the first call.
struct Generated {
    Program program;
    std::vector<Content> contents;
};

/// The whole generator. Pure: same input, same bytes. `asked`, where it is not null, gets the knobs that were asked for. Throws SpecError.
Generated generate(const SparseSpec& spec, const Target& target, const SparseTuning& tuning, const SparsePattern& pattern,
                   const Arrangement& arrangement, std::vector<trifold::KnobDecision>* asked = nullptr);

}  // namespace trifold::sparse
