#pragma once
#include <trifold/sparse_spec.hpp>

#include "generator/program/fields.hpp"
#include "generator/sparse/wisdom.hpp"

namespace trifold {

template <>
[[gnu::visibility("hidden")]] inline constexpr std::array<std::string_view, 7> names_of<SparsePreconditioner>{
    "none", "jacobi", "dilu", "ic0", "ildu0", "ildu1", "ildu2"};
/// Properties of a preconditioner, by which all else is decided.
struct Preconditioner {
    int fill = 0;                 ///< the level up to which entries are added to those of A
    bool has_factors = true;      ///< it is not the identity
    bool has_triangles = true;    ///< it couples rows of a subdomain, by L and U
    bool diagonal_alone = false;  ///< an elimination changes only the diagonal of its row
    bool needs_cg = false;        ///< it is for symmetric matrices
};
inline constexpr std::array<Preconditioner, names_of<SparsePreconditioner>.size()> preconditioners{{
    {.has_factors = false, .has_triangles = false},
    {.has_triangles = false},
    {.diagonal_alone = true},
    {.needs_cg = true},
    {},
    {.fill = 1},
    {.fill = 2},
}};
constexpr const Preconditioner& properties_of(SparsePreconditioner one) { return preconditioners.at(static_cast<std::size_t>(one)); }
template <>
[[gnu::visibility("hidden")]] inline constexpr std::array<std::string_view, 3> names_of<SparseMethod>{"bicgstab", "cg", "gmres"};
template <>
[[gnu::visibility("hidden")]] inline constexpr std::array<std::string_view, 7> names_of<SparseOperation>{
    "apply", "apply_transposed", "multiply", "multiply_transposed", "solve", "solve_transposed", "gradient"};
template <>
[[gnu::visibility("hidden")]] inline constexpr std::array<std::string_view, 6> names_of<SparsePartitioning>{"automatic", "box",   "metis",
                                                                                                            "greedy",    "given", "whole"};

extern const Fields sparse_fields;  ///< fields of a SparseSpec

namespace sparse {

/// Every field of a SparseSpec, "family", and the sizes of the pattern: its rows and entries, and of a mesh "128x128x64" and its points.
/// The same text for the same problem. `update` is among the operations.
nlohmann::json to_json(const Problem& problem);
/// The reverse. What is left out has its default; a name that no problem has is an error. Throws SpecError with what is wrong.
Problem parse_sparse_json(const nlohmann::json& json);

/// "128x128x64", or "512x512". Throws SpecError.
SparseMesh parse_mesh(std::string_view text, int points);

}  // namespace sparse
}  // namespace trifold
