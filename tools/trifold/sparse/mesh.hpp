#pragma once
#include "generator/sparse/arrangement.hpp"
#include "tools/trifold/sparse/options.hpp"

namespace trifold::command {

/// The cells of a command line in their subdomains, and the Program for them.
struct MeshProgram {
    sparse::Arrangement arrangement;
    Program program;
};
/// Throws SpecError where there are no cells.
MeshProgram make_mesh(const SparseSpec& spec, const SparseMatrixOptions& options, const Target& target, int workers);

}  // namespace trifold::command
