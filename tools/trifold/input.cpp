#include "tools/trifold/input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "tools/formats/assemble.hpp"
#include "tools/formats/file.hpp"
#include "tools/formats/npy.hpp"

namespace trifold::command {
namespace {

using namespace formats;
namespace fs = std::filesystem;

bool same_file(const fs::path& left, const fs::path& right) {
    std::error_code ignored;
    return fs::equivalent(left, right, ignored) || fs::weakly_canonical(left, ignored) == fs::weakly_canonical(right, ignored);
}

}  // namespace

std::vector<Contents> read_files(const std::vector<std::string>& files) {
    if (std::ranges::count(files, standard_stream) > 1)
        throw InputError("'-' was given more than once, and standard input can be read only once; give the other files by name");
    std::vector<Contents> contents;
    for (const auto& file : files)
        contents.push_back(file == standard_stream ? Contents{"standard input", read_standard_input()} : Contents{file, read_file(file)});
    return contents;
}

void check_kind(std::span<const Contents> files, bool arrays, std::string_view forms) {
    for (const auto& file : files) {
        if (file.is_numpy() == arrays) continue;
        if (const auto foreign = foreign_kind(file.bytes); !foreign.empty())
            throw InputError(fmt::format("'{}' cannot be read: {}", file.name, foreign));
        throw InputError(fmt::format("'{}' {} a NumPy array; give {}", file.name, arrays ? "is not" : "is", forms));
    }
}

MatrixSystem read_matrix_system(Contents& a_file, Contents& b_file) {
    if (!a_file.matrix) {
        auto a = parse_matrix_market(a_file.bytes, a_file.name);
        std::string().swap(a_file.bytes);  // it may be large
        if (!std::holds_alternative<SparseMatrix>(a))
            throw InputError(fmt::format("'{}' is an array (dense) file; A must be a coordinate file", a_file.name));
        a_file.matrix = std::get<SparseMatrix>(std::move(a));
    }
    MatrixSystem system{.a = std::move(*a_file.matrix)};
    if (b_file.is_numpy()) {
        auto b = parse_npy(b_file.bytes, b_file.name);
        if (b.shape.empty() || b.shape.size() > 2)
            throw InputError(fmt::format("'{}' has shape {}; next to an A.mtx give (rows,), or (rows, m) for m right-hand sides",
                                         b_file.name, shape_text(b.shape)));
        if (!std::ranges::all_of(b.values, [](double value) { return std::isfinite(value); }))
            throw InputError(fmt::format("'{}' holds infinite values or NaN", b_file.name));
        system.kind = Kind::numpy;
        system.shape = b.shape;
        system.b = {b.shape[0], b.shape.size() == 2 ? b.shape[1] : 1, std::move(b.values)};
    } else {
        auto b = parse_matrix_market(b_file.bytes, b_file.name);
        if (const auto* sparse = std::get_if<SparseMatrix>(&b)) b = to_dense(*sparse, b_file.name);
        system.b = std::get<DenseMatrix>(std::move(b));
        system.shape = {system.b.rows, system.b.columns};
    }
    return system;
}

Kind kind_of(const std::string& name, Kind otherwise) {
    return name.ends_with(".npy") ? Kind::numpy : name.ends_with(".mtx") ? Kind::matrix_market : otherwise;
}

Kind Output::kind(Kind input) const {
    if (format.empty()) return kind_of(name, input);
    const auto asked = format == "npy" ? Kind::numpy : Kind::matrix_market;
    if (kind_of(name, asked) != asked)
        throw InputError(fmt::format("the name '{}' says one format and --format {} another; give one of the two", name, format));
    return asked;
}

void Output::write(std::string_view bytes) const {
    if (is_standard())
        write_standard_output(bytes);
    else if (!name.empty())
        write_file(name, bytes);
}

void check_format(const Output& output, Kind input, std::int64_t batch, std::string_view what) {
    if (output.kind(input) == Kind::matrix_market && batch > 1)
        throw InputError(
            fmt::format("'{}' would be a Matrix Market file, which holds one {}, and there are {}; give a name that ends in "
                        ".npy, or --format npy",
                        output.name, what, batch));
}

void check_outputs(const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) {
    for (std::size_t k = 0; k < outputs.size(); ++k) {
        if (outputs[k] == standard_stream) continue;
        check_writable(outputs[k]);
        for (const auto& input : inputs) {
            if (same_file(outputs[k], input)) throw InputError(fmt::format("'{}' is an input; give another file to write", outputs[k]));
        }
        for (std::size_t other = 0; other < k; ++other) {
            if (same_file(outputs[k], outputs[other]) && fs::is_character_file(outputs[k]) == false)
                throw InputError(fmt::format("'{}' is to be written twice; give different files", outputs[k]));
        }
    }
}

}  // namespace trifold::command
