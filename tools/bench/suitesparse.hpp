#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "tools/formats/matrix_market.hpp"

namespace trifold::bench {

/// Another solver of one matrix: its analysis is done, `factor` repeats the numeric phase.
struct Rival {
    std::function<void()> factor;
    std::function<std::vector<double>(const std::vector<double>& b)> solve;
};

/// UMFPACK, or CHOLMOD where the matrix is positive definite, each with the orderings AMD and METIS; none in a build without SuiteSparse.
std::vector<std::string> suitesparse_names(bool positive_definite);
/// The solver of that name's place. Throws std::runtime_error.
Rival suitesparse_rival(std::size_t place, const formats::SparseMatrix& a, bool positive_definite);

}  // namespace trifold::bench
