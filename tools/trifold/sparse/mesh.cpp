#include <fmt/format.h>

#include <trifold/error.hpp>

#include "generator/sparse/generate.hpp"
#include "generator/sparse/knobs.hpp"
#include "generator/sparse/wisdom.hpp"
#include "runtime/sparse/plan.hpp"
#include "runtime/wisdom/wisdom.hpp"
#include "tools/trifold/sparse/options.hpp"

namespace trifold::command {
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
