#include "tools/trifold/sparse/mesh.hpp"

#include <fmt/format.h>

#include <trifold/error.hpp>

#include "generator/sparse/generate.hpp"
#include "runtime/sparse/metis.hpp"

namespace trifold::command {
namespace {

sparse::Parts parts_of(const SparseMesh& mesh, const SparsePattern& pattern, const SparsePartition& partition, std::int64_t rows) {
    if (partition.by == SparsePartitioning::whole) return sparse::whole(pattern);
    if (partition.by == SparsePartitioning::greedy) return sparse::greedy_parts(pattern, rows);
    if (partition.by == SparsePartitioning::given) return sparse::given_parts(pattern, partition.parts);
    if (std::string why; partition.by == SparsePartitioning::metis) {
        if (auto parts = sparse::metis_parts(pattern, rows, why)) return std::move(*parts);
        throw SpecError(fmt::format("--partition metis: {}", why));
    }
    return sparse::parts_of_boxes(mesh, partition.by == SparsePartitioning::box ? partition.box : sparse::box_of(mesh, rows));
}

}  // namespace

MeshProgram make_mesh(const SparseSpec& spec, const SparseMatrixOptions& options, const Target& target, int workers) {
    const auto mesh = options.cells();
    if (!mesh) throw SpecError("the kernels of a sparse system need its cells; give --mesh, such as 128x128x128");
    const SparsePattern pattern(*mesh);
    const auto partition = options.parts(true);
    const auto rows = partition.rows > 0 ? partition.rows : sparse::usual_rows(spec, target, pattern.rows());
    auto arrangement = sparse::arrange(pattern, parts_of(*mesh, pattern, partition, rows), spec.preconditioner, sparse::order_for(target));
    auto made = sparse::generate(spec, target, {.workers = workers}, pattern, arrangement);
    return {std::move(arrangement), std::move(made.program)};
}

}  // namespace trifold::command
