#pragma once
#include <optional>
#include <string>
#include <trifold/sparse.hpp>

#include "generator/sparse/arrangement.hpp"
#include "generator/sparse/generate.hpp"

namespace trifold::sparse {

/// The subdomains of a pattern. If the caller leaves that open, of about `usual` rows, or at most `max_parts` of them. Throws SpecError.
Parts parts_of(const SparsePattern& pattern, const SparsePartition& partition, SparsePreconditioner preconditioner, std::int64_t usual,
               std::int64_t max_parts = 0);

/// Subdomains by METIS, whose library is opened at run time. None where it is not installed, and `why` says what to install; or where it
/// failed.
std::optional<Parts> metis_parts(const SparsePattern& pattern, std::int64_t rows, std::string& why);

struct Made {
    Generated generated;
    SparseSummary summary;  ///< without its seconds
};

/// The name of a plan's file, of all that decides what is made; empty where the pattern is small, or may be made of edited templates.
std::string kept_name(const SparseChoice& choice, const SparsePattern& pattern, const Parts& parts);
std::optional<Made> find_made(const std::string& name);
void keep_made(const std::string& name, const Made& made);

}  // namespace trifold::sparse
