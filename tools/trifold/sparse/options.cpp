#include "tools/trifold/sparse/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <sstream>
#include <trifold/error.hpp>

#include "tools/formats/file.hpp"
#include "tools/trifold/input.hpp"
#include "tools/trifold/spec_options.hpp"

namespace trifold::command {
namespace {

bool is_box(const std::string& text) {
    return !text.empty() && text.find_first_not_of("0123456789x") == std::string::npos && text.find('x') != std::string::npos;
}

/// Numbers of a text file, one for each row.
std::vector<std::int32_t> read_parts(const std::string& name) {
    std::istringstream text(read_files({name}).front().bytes);
    std::vector<std::int32_t> parts;
    for (std::int32_t part; text >> part;) parts.push_back(part);
    if (!text.eof())
        throw formats::InputError(fmt::format("'{}' holds more than whole numbers; give the subdomain of each row, from 0", name));
    return parts;
}

/// The mesh's boxes, by row, for a matrix that comes as entries.
std::vector<std::int32_t> parts_of(const SparseMesh& mesh, const std::array<std::int64_t, 3>& box) {
    std::vector<std::int32_t> parts;
    const auto across = (mesh.width + box[0] - 1) / box[0], down = (mesh.height + box[1] - 1) / box[1];
    for (std::int64_t z = 0; z < mesh.depth; ++z)
        for (std::int64_t y = 0; y < mesh.height; ++y)
            for (std::int64_t x = 0; x < mesh.width; ++x)
                parts.push_back(static_cast<std::int32_t>(x / box[0] + across * (y / box[1] + down * (z / box[2]))));
    return parts;
}

}  // namespace

std::array<std::int64_t, 3> parse_cells(const std::string& text) {
    std::array<std::int64_t, 3> cells{1, 1, 1};
    const auto *at = text.data(), *const end = at + text.size();
    for (std::size_t k = 0; k < cells.size(); ++k) {
        const auto [next, error] = std::from_chars(at, end, cells[k]);
        if (error != std::errc() || cells[k] < 1) break;
        if (next == end && k > 0) return cells;
        if (next == end || *next != 'x') break;
        at = next + 1;
    }
    throw SpecError(fmt::format("'{}' is no number of cells; give two or three, such as 128x128x64", text));
}

std::int64_t block_of(const CLI::App& app, const std::string& otherwise) {
    const auto* option = app.get_option_no_throw("--block");
    if (option != nullptr && option->count() > 0) return option->as<std::int64_t>();
    return otherwise.empty() ? 1 : std::stoll(otherwise);
}

void SparseMatrixOptions::add_to(CLI::App& app) {
    app.add_option("--preconditioner", preconditioner,
                   "With --iterative: ildu0, ildu1, ildu2 (with fill), dilu, ic0 (with --method cg), jacobi or none")
        ->capture_default_str();
    app.add_option("--method", method, "With --iterative: bicgstab, cg (A symmetric and positive definite) or gmres")
        ->capture_default_str();
    app.add_option("--restart", restart, "With --iterative --method gmres: vectors between two restarts, at most 32")
        ->capture_default_str();
    app.add_option("--partition", partition,
                   "With --iterative: automatic, metis, greedy, whole, boxes of cells such as 16x16x8 (with --mesh), or a file with the "
                   "number of each row's subdomain")
        ->capture_default_str();
    app.add_option("--subdomain", rows, "With --iterative: about so many rows of blocks in a subdomain; 0: by wisdom, or the device's rows")
        ->check(non_negative_number())
        ->capture_default_str();
    app.add_option("--mesh", mesh, "With --iterative: rows are the cells of such a box, x fastest: 128x128x64");
}

void SparseMatrixOptions::add_variant(CLI::App& app) {
    app.add_option("--sparse-variant", variant,
                   "With --iterative: auto, or sweeps and its knobs, as explain lists them: sweeps:tile_scalars=3072")
        ->capture_default_str();
}

void SparseMatrixOptions::add_points(CLI::App& app) {
    app.add_option("--points", points, "With --iterative: neighbours of a cell and itself: 7, 19 or 27, or 5 or 9 where all lie in a plane")
        ->capture_default_str();
}

SparseSpec SparseMatrixOptions::spec() const {
    SparseSpec spec;
    spec.preconditioner = parse_sparse_preconditioner(preconditioner);
    spec.method = parse_sparse_method(method);
    spec.restart = restart;
    return spec;
}

SparseSpec SparseMatrixOptions::spec(const CLI::App& app, const SpecOptions& common) const {
    auto all = spec();
    all.block = block_of(app);
    all.precision = common.precision();
    all.rhs = common.rhs;
    all.batch = common.batch;
    validate(all);
    return all;
}

std::optional<SparseMesh> SparseMatrixOptions::cells() const {
    if (mesh.empty()) return std::nullopt;
    const auto [x, y, z] = parse_cells(mesh);
    return SparseMesh{x, y, z, points};
}

SparsePartition SparseMatrixOptions::parts(bool is_mesh) const {
    SparsePartition result{.rows = rows};
    if (is_box(partition)) {
        const auto known = cells();
        if (!known) throw SpecError(fmt::format("--partition {} are boxes of cells; say how many cells there are by --mesh", partition));
        const auto box = parse_cells(partition);
        if (is_mesh) return {.by = SparsePartitioning::box, .box = box};
        return {.by = SparsePartitioning::given, .parts = parts_of(*known, box)};
    }
    for (const auto by : {SparsePartitioning::automatic, SparsePartitioning::metis, SparsePartitioning::greedy, SparsePartitioning::whole})
        if (partition == to_string(by)) {
            result.by = by;
            return result;
        }
    return {.by = SparsePartitioning::given, .parts = read_parts(partition)};
}

}  // namespace trifold::command
