#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/formats/matrix_market.hpp"

namespace trifold::command {

enum class Kind { matrix_market, numpy };

/// The name that stands for standard input, and for standard output.
inline constexpr std::string_view standard_stream = "-";

/// A file in memory; `name` is as messages have it.
struct Contents {
    std::string name, bytes;
    std::optional<formats::SparseMatrix> matrix{};  ///< where it was parsed already; then there are no bytes
    bool is_numpy() const { return bytes.starts_with("\x93NUMPY"); }
};

/// The whole of each file, `-` from standard input. Each is read once, because it may be a pipe. Throws InputError.
std::vector<Contents> read_files(const std::vector<std::string>& files);

/// Throws InputError when the first files, or all, are NumPy arrays or not as they should be: `forms` are those that may be given.
void check_kind(std::span<const Contents> files, bool arrays, std::string_view forms);

/// A sparse A and its b; x is written in the kind and the shape of b.
struct MatrixSystem {
    formats::SparseMatrix a;
    formats::DenseMatrix b;
    Kind kind = Kind::matrix_market;
    std::vector<std::int64_t> shape;
};
/// A from a Matrix Market file, b from one or from a NumPy array. Their memory is let go as they are read. Throws InputError.
MatrixSystem read_matrix_system(Contents& a, Contents& b);

/// Destination of x: a file, or `-` for standard output; empty: none.
struct Output {
    std::string name, format;  ///< format: npy, mtx, or empty where it was not given
    bool is_standard() const { return name == standard_stream; }
    /// Kind that the format says, else that of the name's end, .npy or .mtx, else that of the input. Throws InputError if the two differ.
    Kind kind(Kind input) const;
    void write(std::string_view bytes) const;
};

/// The kind of a file by how its name ends: .npy or .mtx.
Kind kind_of(const std::string& name, Kind otherwise);

/// Throws InputError when `output` is of a kind that cannot hold x.
void check_format(const Output& output, Kind input, std::int64_t batch, std::string_view what);

/// Throws InputError when an output cannot be written, is one of the inputs, or is given twice.
void check_outputs(const std::vector<std::string>& inputs, const std::vector<std::string>& outputs);

}  // namespace trifold::command
