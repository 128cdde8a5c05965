#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <trifold/error.hpp>
#include <trifold/sparse_spec.hpp>

#include "generator/program/sha256.hpp"

namespace trifold {

struct SparsePattern::Data {
    std::vector<std::int64_t> starts;
    std::vector<std::int32_t> columns, sources;
    bool is_mesh = false;
    SparseMesh mesh;
};

namespace {

constexpr std::int64_t max_index = std::numeric_limits<std::int32_t>::max();

/// Throws SpecError with the first thing that is wrong.
template <class Start, class Column>
void check_rows(std::span<const Start> starts, std::span<const Column> columns) {
    if (starts.size() < 2)
        throw SpecError(
            fmt::format("a pattern's starts have {} elements; give one more than rows, of which there must be one", starts.size()));
    const auto rows = static_cast<std::int64_t>(starts.size()) - 1, entries = static_cast<std::int64_t>(columns.size());
    if (rows > max_index || entries > max_index)
        throw SpecError(fmt::format("the matrix has {} rows and {} entries; at most {} of each can be indexed", rows, entries, max_index));
    if (starts.front() != 0) throw SpecError(fmt::format("a pattern's starts begin with {}, not 0", starts.front()));
    if (starts.back() != entries)
        throw SpecError(fmt::format("a pattern's starts end with {}, but there are {} columns", starts.back(), entries));
    for (std::int64_t row = 0; row < rows; ++row) {
        const std::int64_t first = starts[static_cast<std::size_t>(row)], end = starts[static_cast<std::size_t>(row) + 1];
        if (end < first || end > entries) throw SpecError(fmt::format("row {} ends at {}, before it begins at {}", row, end, first));
        if (end == first) throw SpecError(fmt::format("row {} is empty; every row needs its diagonal, so the matrix is singular", row));
        bool diagonal = false;
        std::int64_t last = -1;
        for (auto k = first; k < end; ++k) {
            const std::int64_t column = columns[static_cast<std::size_t>(k)];
            if (column < 0) throw SpecError(fmt::format("row {} has the column {}; columns count from 0", row, column));
            if (column >= rows)
                throw SpecError(
                    fmt::format("row {} has the column {}, but there are {} rows; the matrix must be square", row, column, rows));
            if (column == last) throw SpecError(fmt::format("row {} has the column {} twice; add up what stands there", row, column));
            if (column < last)
                throw SpecError(fmt::format("row {} has the column {} behind {}; sort the columns of each row", row, column, last));
            diagonal = diagonal || column == row;
            last = column;
        }
        if (!diagonal)
            throw SpecError(
                fmt::format("row {} has no entry at column {}; a factorization needs the diagonal, if only as a zero", row, row));
    }
}

struct MeshStep {
    int x, y, z;
};

/// The neighbours of a cell, in the order of their rows.
std::vector<MeshStep> steps_of(const SparseMesh& mesh) {
    const int away = mesh.points == 19 || mesh.points == 9 ? 2 : mesh.points == 27 ? 3 : 1;  // coordinates that may differ
    const int z_max = mesh.depth > 1 || mesh.points == 7 || mesh.points == 19 || mesh.points == 27 ? 1 : 0;
    std::vector<MeshStep> steps;
    for (int z = -z_max; z <= z_max; ++z)
        for (int y = -1; y <= 1; ++y)
            for (int x = -1; x <= 1; ++x)
                if (std::abs(x) + std::abs(y) + std::abs(z) <= away) steps.push_back({x, y, z});
    return steps;
}

/// Says why this is no mesh; empty: it is one.
std::string flaw_of(const SparseMesh& mesh) {
    constexpr std::int64_t max_side = 1 << 20;
    for (const auto side : {mesh.width, mesh.height, mesh.depth})
        if (side < 1 || side > max_side)
            return fmt::format("a mesh of {} x {} x {} cells; each side must be 1 to {}", mesh.width, mesh.height, mesh.depth, max_side);
    constexpr std::array flat{5, 9};
    constexpr std::array solid{7, 19, 27};
    if (std::ranges::find(flat, mesh.points) == flat.end() && std::ranges::find(solid, mesh.points) == solid.end())
        return fmt::format("a mesh with {} points a row; give 5 or 9 of a mesh in two dimensions, 7, 19 or 27 in three", mesh.points);
    if (mesh.depth > 1 && std::ranges::find(flat, mesh.points) != flat.end())
        return fmt::format("a mesh of depth {} with {} points a row; give 7, 19 or 27", mesh.depth, mesh.points);
    const auto rows = checked_multiply(checked_multiply(mesh.width, mesh.height, "cells"), mesh.depth, "cells");
    if (checked_multiply(rows, mesh.points, "values") > max_index)
        return fmt::format("a mesh of {} cells with {} points each; at most {} blocks can be indexed", rows, mesh.points, max_index);
    return "";
}

void check_mesh(const SparseMesh& mesh) {
    if (const auto flaw = flaw_of(mesh); !flaw.empty()) throw SpecError(flaw);
}

/// The mesh whose first cell has these neighbours, if there is one.
SparseMesh mesh_of_first(std::span<const std::int32_t> columns, std::int64_t rows) {
    const auto above = [&](std::size_t k) { return std::int64_t{columns[k]}; };
    const auto solid = [&](std::int64_t width, std::int64_t plane, int points) {
        return SparseMesh{width, plane / width, rows / plane, points};
    };
    switch (columns.size()) {
        case 2:
            return {rows, 1, 1, 5};
        case 3:
            return {above(2), rows / above(2), 1, 5};
        case 4:
            if (above(3) == above(2) + 1) return {above(2), rows / above(2), 1, 9};
            return solid(above(2), above(3), 7);
        case 7:
            return solid(above(2), above(4), 19);
        case 8:
            return solid(above(2), above(4), 27);
        default:
            return {};
    }
}

}  // namespace

std::int64_t SparseMesh::entries() const {
    check_mesh(*this);
    std::int64_t count = 0;
    const auto pairs = [](std::int64_t side, int step) { return std::max<std::int64_t>(0, side - std::abs(step)); };
    for (const auto& [x_step, y_step, z_step] : steps_of(*this))
        count += pairs(width, x_step) * pairs(height, y_step) * pairs(depth, z_step);
    return count;
}

template <class Start, class Column>
std::shared_ptr<const SparsePattern::Data> SparsePattern::checked(std::span<const Start> starts, std::span<const Column> columns) {
    check_rows(starts, columns);
    return std::make_shared<const Data>(Data{{starts.begin(), starts.end()}, {columns.begin(), columns.end()}});
}
using Wide = std::span<const std::int64_t>;
using Narrow = std::span<const std::int32_t>;
SparsePattern::SparsePattern(Wide starts, Wide columns) : data_(checked(starts, columns)) {}
SparsePattern::SparsePattern(Narrow starts, Narrow columns) : data_(checked(starts, columns)) {}
SparsePattern::SparsePattern(Wide starts, Narrow columns) : data_(checked(starts, columns)) {}

SparsePattern::SparsePattern(const SparseMesh& mesh) {
    check_mesh(mesh);
    Data data;
    data.is_mesh = true;
    data.mesh = mesh;
    const auto steps = steps_of(mesh);
    const auto rows = mesh.width * mesh.height * mesh.depth;
    data.starts.reserve(static_cast<std::size_t>(rows) + 1);
    data.columns.reserve(static_cast<std::size_t>(rows) * steps.size());
    data.sources.reserve(data.columns.capacity());
    data.starts.push_back(0);
    std::int64_t row = 0;
    for (std::int64_t z = 0; z < mesh.depth; ++z)
        for (std::int64_t y = 0; y < mesh.height; ++y)
            for (std::int64_t x = 0; x < mesh.width; ++x, ++row) {
                for (std::size_t k = 0; k < steps.size(); ++k) {
                    const auto i = x + steps[k].x, j = y + steps[k].y, l = z + steps[k].z;
                    if (i < 0 || i >= mesh.width || j < 0 || j >= mesh.height || l < 0 || l >= mesh.depth) continue;
                    data.columns.push_back(static_cast<std::int32_t>(i + mesh.width * (j + mesh.height * l)));
                    data.sources.push_back(static_cast<std::int32_t>(row * mesh.points + static_cast<std::int64_t>(k)));
                }
                data.starts.push_back(static_cast<std::int64_t>(data.columns.size()));
            }
    data_ = std::make_shared<const Data>(std::move(data));
}

std::int64_t SparsePattern::rows() const { return static_cast<std::int64_t>(data_->starts.size()) - 1; }
std::int64_t SparsePattern::entries() const { return static_cast<std::int64_t>(data_->columns.size()); }
std::int64_t SparsePattern::values() const { return data_->is_mesh ? rows() * data_->mesh.points : entries(); }
std::span<const std::int64_t> SparsePattern::starts() const { return data_->starts; }
std::span<const std::int32_t> SparsePattern::columns() const { return data_->columns; }
std::span<const std::int32_t> SparsePattern::sources() const { return data_->sources; }
const SparseMesh* SparsePattern::mesh() const { return data_->is_mesh ? &data_->mesh : nullptr; }

std::optional<SparseMesh> mesh_of(const SparsePattern& pattern) {
    if (pattern.mesh() != nullptr) return *pattern.mesh();
    const auto first = pattern.columns().first(static_cast<std::size_t>(pattern.starts()[1]));
    const auto mesh = mesh_of_first(first, pattern.rows());
    if (!flaw_of(mesh).empty() || mesh.entries() != pattern.entries()) return {};
    const SparsePattern same(mesh);
    if (!std::ranges::equal(same.starts(), pattern.starts()) || !std::ranges::equal(same.columns(), pattern.columns())) return {};
    return mesh;
}

std::string SparsePattern::hash() const {
    const auto bytes = [](const auto& list) {
        return std::string_view(reinterpret_cast<const char*>(list.data()), list.size() * sizeof list[0]);
    };
    if (const auto* m = mesh()) return sha256(fmt::format("mesh {} {} {} {}", m->width, m->height, m->depth, m->points));
    return sha256(sha256(bytes(data_->starts)) + sha256(bytes(data_->columns)));
}

}  // namespace trifold
