#pragma once
#include <nlohmann/json.hpp>

#include "generator/sparse/wisdom.hpp"

namespace trifold::sparse {

/// Every field of a SparseSpec, by the names that the command line has for them, "family", and the sizes of the pattern: its rows and
/// entries, and of a mesh "128x128x64" and its points. The same text for the same problem. `update` is among the operations.
nlohmann::json to_json(const Problem& problem);
/// The reverse. What is left out has its default; a name that no problem has is an error. Throws SpecError with what is wrong.
Problem parse_sparse_json(const nlohmann::json& json);

/// "128x128x64", or "512x512". Throws SpecError.
SparseMesh parse_mesh(std::string_view text, int points);

}  // namespace trifold::sparse
