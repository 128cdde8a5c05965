#pragma once
#include "generator/sparse/arrangement.hpp"
#include "tools/trifold/sparse/options.hpp"

namespace trifold::command {

/// The cells of a command line in their subdomains, and the Program for them.
struct MeshProgram {
    SparseChoice choice;
    std::vector<KnobDecision> decided;  ///< about knobs
    sparse::Arrangement arrangement;
    Program program;
};
/// Throws SpecError where there are no cells, DeviceError.
MeshProgram make_mesh(const SparseSpec& spec, const SparseMatrixOptions& options, const SpecOptions& common);

}  // namespace trifold::command
