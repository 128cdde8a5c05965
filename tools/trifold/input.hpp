#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/formats/assemble.hpp"

namespace trifold::command {

enum class Kind { matrix_market, numpy };

/// What the user's files hold.
struct Input {
    Kind kind;
    formats::System system;
    Precision precision;              ///< to solve in
    std::vector<std::int64_t> shape;  ///< of b as given; x has it too
    bool batched = false;             ///< the arrays have a batch axis
};

/// The name that stands for standard input, and for standard output.
inline constexpr std::string_view standard_stream = "-";

/// A file in memory; `name` is as messages have it.
struct Contents {
    std::string name, bytes;
    bool is_numpy() const { return bytes.starts_with("\x93NUMPY"); }
};

/// The whole of each file, `-` from standard input. Each is read once, because it may be a pipe. Throws InputError.
std::vector<Contents> read_files(const std::vector<std::string>& files);

/// Throws InputError when some files are NumPy arrays and some are not: `forms` are those that may be given.
void check_same_kind(const std::vector<Contents>& files, bool arrays, std::string_view forms);

/// A.mtx b.mtx, or D.npy E.npy b.npy, told apart by content. Without a precision it is that of the arrays, f64 for Matrix Market.
/// Throws InputError.
Input read_input(const std::vector<std::string>& files, std::optional<std::int64_t> block, std::optional<Precision> precision);

/// D and E alone, NumPy arrays; the right-hand side of the system is zero.
formats::System read_matrix(const std::string& d, const std::string& e, Precision precision);

/// Where x goes: a file, or `-` for standard output; nowhere where it is empty.
struct Output {
    std::string name, format;  ///< format: npy, mtx, or empty where it was not given
    bool is_standard() const { return name == standard_stream; }
    /// As the format says, else as the name ends, .npy or .mtx, else as that of the input. Throws InputError where the two differ.
    Kind kind(Kind input) const;
    void write(std::string_view bytes) const;
};

/// The kind of a file by how its name ends: .npy or .mtx.
Kind kind_of(const std::string& name, Kind otherwise);

/// x [batch][N][n][m] as a file of that kind, without padding.
std::string format_solution(const Input& input, const std::vector<double>& x, Kind kind);

/// Throws InputError when `output` is of a kind that cannot hold x.
void check_format(const Output& output, Kind input, std::int64_t batch, std::string_view what);

/// Throws InputError when an output cannot be written, is one of the inputs, or is given twice.
void check_outputs(const std::vector<std::string>& inputs, const std::vector<std::string>& outputs);

}  // namespace trifold::command
