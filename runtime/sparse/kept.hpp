#pragma once
#include <optional>
#include <trifold/sparse.hpp>

#include "generator/sparse/generate.hpp"

/// Plans of large patterns on disk: what is made of a pattern for kernels takes a second for a million rows.
namespace trifold::sparse {

struct Made {
    Generated generated;
    SparseSummary summary;  ///< without its seconds
};

/// The name of a plan's file, of all that decides what is made; empty where the pattern is small, or may be made of edited templates.
std::string kept_name(const SparseChoice& choice, const SparsePattern& pattern, const Parts& parts);
std::optional<Made> find_made(const std::string& name);
void keep_made(const std::string& name, const Made& made);

}  // namespace trifold::sparse
