#include <fmt/format.h>

#include "tools/formats/file.hpp"
#include "tools/trifold/tridiagonal/options.hpp"

namespace trifold::command {

using namespace formats;

namespace {

formats::Array read_array(Contents& file) {
    auto array = parse_npy(file.bytes, file.name);
    std::string().swap(file.bytes);  // the arrays may be large
    return array;
}

Input read_sparse(std::vector<Contents>& files, std::optional<std::int64_t> block, Precision precision) {
    const auto [a, b] = read_matrix_market(files[0], files[1]);
    return {Kind::matrix_market, assemble(a, b, block, precision), precision, {b.rows, b.columns}};
}

Input read_numpy(std::vector<Contents>& files, std::optional<std::int64_t> block, std::optional<Precision> precision) {
    const auto d = read_array(files[0]), e = read_array(files[1]), b = read_array(files[2]);
    auto system = assemble(d, e, b);
    if (block && *block != system.block)
        throw InputError(
            fmt::format("--block {} was given, but the blocks of '{}' are {} by {}", *block, files[0].name, system.block, system.block));
    return {Kind::numpy, std::move(system), precision.value_or(d.precision), b.shape, d.shape.size() == 4};
}

}  // namespace

Input read_input(std::vector<Contents> files, std::optional<std::int64_t> block, std::optional<Precision> precision) {
    if (files.size() != 2 && files.size() != 3)
        throw InputError(fmt::format("{} file(s) were given; give A.mtx b.mtx, or D.npy E.npy b.npy", files.size()));
    const bool arrays = files.size() == 3;
    check_same_kind(files, arrays, "two Matrix Market files (A.mtx b.mtx) or three NumPy arrays (D.npy E.npy b.npy)");
    auto input = arrays ? read_numpy(files, block, precision) : read_sparse(files, block, precision.value_or(Precision::f64));
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

std::string format_solution(const Input& input, const std::vector<double>& x, Kind kind) {
    const auto& system = input.system;
    const std::vector<double> rows(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(system.batch * system.rows * system.rhs));
    if (kind == Kind::numpy) return format_npy({input.shape, input.precision, rows});
    return format_matrix_market(DenseMatrix{system.rows, system.rhs, rows});
}

}  // namespace trifold::command
