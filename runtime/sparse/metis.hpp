#pragma once
#include <optional>
#include <string>

#include "generator/sparse/arrangement.hpp"

namespace trifold::sparse {

/// Subdomains by METIS, whose library is opened at run time. None where it is not installed, and `why` says what to install; or where it
/// failed.
std::optional<Parts> metis_parts(const SparsePattern& pattern, std::int64_t rows, std::string& why);

}  // namespace trifold::sparse
