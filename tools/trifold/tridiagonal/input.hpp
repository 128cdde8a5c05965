#pragma once
#include <optional>
#include <string>
#include <vector>

#include "tools/formats/assemble.hpp"
#include "tools/trifold/input.hpp"

namespace trifold::command {

/// What the user's files hold.
struct Input {
    Kind kind;
    formats::System system;
    Precision precision;              ///< to solve in
    std::vector<std::int64_t> shape;  ///< of b as given; x has it too
    bool batched = false;             ///< the arrays have a batch axis
};

/// A.mtx b.mtx, or D.npy E.npy b.npy, told apart by content. Without a precision it is that of the arrays, f64 for Matrix Market.
/// Throws InputError.
Input read_input(std::vector<Contents> files, std::optional<std::int64_t> block, std::optional<Precision> precision);

/// D and E alone, NumPy arrays; the right-hand side of the system is zero.
formats::System read_matrix(const std::string& d, const std::string& e, Precision precision);

/// x [batch][N][n][m] as a file of that kind, without padding.
std::string format_solution(const Input& input, const std::vector<double>& x, Kind kind);

}  // namespace trifold::command
