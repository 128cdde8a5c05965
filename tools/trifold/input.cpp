#include "tools/trifold/input.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tools/formats/file.hpp"

namespace trifold::command {
namespace {

using namespace formats;
namespace fs = std::filesystem;

Array read_array(Contents& file) {
    auto array = parse_npy(file.bytes, file.name);
    std::string().swap(file.bytes);  // the arrays may be large
    return array;
}

Input read_matrix_market(std::vector<Contents>& files, std::optional<std::int64_t> block, Precision precision) {
    auto a = parse_matrix_market(files[0].bytes, files[0].name);
    std::string().swap(files[0].bytes);
    if (!std::holds_alternative<SparseMatrix>(a))
        throw InputError(fmt::format("'{}' is an array (dense) file; A must be a coordinate file", files[0].name));
    auto b = parse_matrix_market(files[1].bytes, files[1].name);
    if (auto* sparse = std::get_if<SparseMatrix>(&b)) b = to_dense(*sparse, files[1].name);
    const auto& rhs = std::get<DenseMatrix>(b);
    return {Kind::matrix_market, assemble(std::get<SparseMatrix>(a), rhs, block, precision), precision, {rhs.rows, rhs.columns}};
}

Input read_numpy(std::vector<Contents>& files, std::optional<std::int64_t> block, std::optional<Precision> precision) {
    const auto d = read_array(files[0]), e = read_array(files[1]), b = read_array(files[2]);
    auto system = assemble(d, e, b);
    if (block && *block != system.block)
        throw InputError(
            fmt::format("--block {} was given, but the blocks of '{}' are {} by {}", *block, files[0].name, system.block, system.block));
    return {Kind::numpy, std::move(system), precision.value_or(d.precision), b.shape, d.shape.size() == 4};
}

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

void check_same_kind(const std::vector<Contents>& files, bool arrays, std::string_view forms) {
    for (const auto& file : files) {
        if (file.is_numpy() == arrays) continue;
        if (const auto foreign = foreign_kind(file.bytes); !foreign.empty())
            throw InputError(fmt::format("'{}' cannot be read: {}", file.name, foreign));
        throw InputError(fmt::format("'{}' {} a NumPy array; give {}", file.name, arrays ? "is not" : "is", forms));
    }
}

Input read_input(const std::vector<std::string>& files, std::optional<std::int64_t> block, std::optional<Precision> precision) {
    if (files.size() != 2 && files.size() != 3)
        throw InputError(fmt::format("{} file(s) were given; give A.mtx b.mtx, or D.npy E.npy b.npy", files.size()));
    const bool arrays = files.size() == 3;
    auto contents = read_files(files);
    check_same_kind(contents, arrays, "two Matrix Market files (A.mtx b.mtx) or three NumPy arrays (D.npy E.npy b.npy)");
    auto input = arrays ? read_numpy(contents, block, precision) : read_matrix_market(contents, block, precision.value_or(Precision::f64));
    check_finite(input.system, input.precision);
    return input;
}

System read_matrix(const std::string& d, const std::string& e, Precision precision) {
    auto files = read_files({d, e});
    const auto blocks = read_array(files[0]), coupling = read_array(files[1]);
    auto system = assemble(blocks, coupling);
    formats::check_finite(system, precision);
    return system;
}

Kind kind_of(const std::string& name, Kind otherwise) {
    return name.ends_with(".npy") ? Kind::numpy : name.ends_with(".mtx") ? Kind::matrix_market : otherwise;
}

std::string format_solution(const Input& input, const std::vector<double>& x, Kind kind) {
    const auto& system = input.system;
    const std::vector<double> rows(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(system.batch * system.rows * system.rhs));
    if (kind == Kind::numpy) return format_npy({input.shape, input.precision, rows});
    return format_matrix_market(DenseMatrix{system.rows, system.rhs, rows});
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
