#include "tools/trifold/sparse/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <trifold/error.hpp>

#include "generator/sparse/arrangement.hpp"
#include "generator/sparse/fields.hpp"
#include "generator/sparse/generate.hpp"
#include "generator/sparse/knobs.hpp"
#include "generator/sparse/wisdom.hpp"
#include "runtime/sparse/plan.hpp"
#include "runtime/wisdom/wisdom.hpp"
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

}  // namespace

std::array<std::int64_t, 3> parse_cells(const std::string& text) {
    auto cells = parse_size(text, 2, 3);
    if (cells.empty() || std::ranges::min(cells) < 1)
        throw SpecError(fmt::format("'{}' is no number of cells; give two or three, such as 128x128x64", text));
    cells.resize(3, 1);
    return {cells[0], cells[1], cells[2]};
}

std::int64_t block_of(const CLI::App& app, const std::string& otherwise) {
    const auto* option = app.get_option_no_throw("--block");
    if (option != nullptr && option->count() > 0) return option->as<std::int64_t>();
    return otherwise.empty() ? 1 : std::stoll(otherwise);
}

void SparseMatrixOptions::add_to(CLI::App& app) {
    add_choices(app, sparse_fields, &spec_);
    add_field(app, sparse_fields["restart"], &spec_);
    app.add_option("--partition", partition,
                   "automatic, metis, greedy, whole, boxes of cells such as 16x16x8 (with --mesh), or a file with the number of each row's "
                   "subdomain")
        ->capture_default_str();
    app.add_option("--subdomain", rows, "Rows of blocks in a subdomain, about; 0: by wisdom, or the device's rows")
        ->check(non_negative_number())
        ->capture_default_str();
    app.add_option("--mesh", mesh, "Rows are the cells of such a box, x fastest: 128x128x64");
}

void SparseMatrixOptions::add_variant(CLI::App& app) {
    app.add_option("--sparse-variant", variant, "auto, or sweeps and its knobs, as explain lists them: sweeps:tile_scalars=3072")
        ->capture_default_str();
}

void SparseMatrixOptions::add_points(CLI::App& app) {
    app.add_option("--points", points, "Neighbours of a cell and itself: 7, 19 or 27, or 5 or 9 where all lie in a plane")
        ->capture_default_str();
}

SparseSpec SparseMatrixOptions::spec(const CLI::App& app, const SpecOptions& common) const {
    auto all = spec_;
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
        return {.by = SparsePartitioning::given, .parts = sparse::parts_of_boxes(*known, box).of_row};
    }
    for (const auto by : {SparsePartitioning::automatic, SparsePartitioning::metis, SparsePartitioning::greedy, SparsePartitioning::whole})
        if (partition == to_string(by)) {
            result.by = by;
            return result;
        }
    return {.by = SparsePartitioning::given, .parts = read_parts(partition)};
}

namespace {

/// Kernels for another machine are not to depend on whether this one has METIS.
sparse::Parts parts_of(const SparsePattern& pattern, const SparsePartition& partition, const SparseSpec& spec, std::int64_t usual,
                       std::int64_t most) {
    if (partition.by != SparsePartitioning::metis) return sparse::parts_of(pattern, partition, spec.preconditioner, usual, most);
    std::string why;
    if (auto parts = sparse::metis_parts(pattern, partition.rows > 0 ? partition.rows : usual, why)) return std::move(*parts);
    throw SpecError(fmt::format("--partition metis: {}", why));
}

}  // namespace

MeshProgram make_mesh(const SparseSpec& spec, const SparseMatrixOptions& options, const SpecOptions& common) {
    const auto mesh = options.cells();
    if (!mesh) throw SpecError("the kernels of a sparse system need its cells; give --mesh, such as 128x128x128");
    const SparsePattern pattern(*mesh);
    const auto device = common.native();
    MeshProgram result;
    result.choice =
        choose_by_wisdom(sparse::Problem{spec, sparse::sizes_of(pattern)}, common.target(),
                         SparseTuning{.workers = common.workers, .variant = options.variant}, device ? wisdom_device(*device) : "");
    const auto& [spec_of_choice, target, tuning, rung, row] = result.choice;
    auto knobs = sparse::pinned_by(tuning, target);
    knobs.asked = &result.decided;
    const auto usual = sparse::usual_rows(spec, target, pattern.rows(), knobs);
    const auto most = sparse::max_parts(spec, target, pattern.rows(), knobs);
    result.arrangement =
        sparse::arrange(pattern, parts_of(pattern, options.parts(true), spec, usual, most), spec.preconditioner, sparse::order_for(target));
    result.program = sparse::generate(spec, target, tuning, pattern, result.arrangement, &result.decided).program;
    return result;
}

}  // namespace trifold::command
