#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace trifold::formats {

/// An entry of a sparse matrix; row and column from 0.
struct Entry {
    std::int64_t row, column;
    double value;
    bool operator==(const Entry&) const = default;
};

struct SparseMatrix {
    std::int64_t rows = 0, columns = 0;
    bool symmetric = false;      ///< entries stand for themselves and their mirror images
    std::vector<Entry> entries;  ///< in the order of the file
};

struct DenseMatrix {
    std::int64_t rows = 0, columns = 0;
    std::vector<double> values;  ///< row-major
};

/// A whole Matrix Market file: coordinate (real or integer; general or symmetric) or array (real or integer, general).
/// `name` stands in messages. Throws InputError naming the line. Infinite and NaN values are errors.
/// Nothing is allocated by what the header announces before the file is known to be able to hold it.
std::variant<SparseMatrix, DenseMatrix> parse_matrix_market(std::string_view text, std::string_view name);

/// An array file whose values read back to the bit.
std::string format_matrix_market(const DenseMatrix& matrix);
/// A coordinate file of the lower triangle when symmetric.
std::string format_matrix_market(const SparseMatrix& matrix);

}  // namespace trifold::formats
