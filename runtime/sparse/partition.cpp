#include <fmt/format.h>

#include <trifold/error.hpp>

#include "runtime/sparse/plan.hpp"

namespace trifold::sparse {
namespace {

Parts parts_by_metis(const SparsePattern& pattern, std::int64_t rows) {
    std::string why;
    if (auto parts = metis_parts(pattern, rows, why)) return std::move(*parts);
    auto parts = greedy_parts(pattern, rows);
    parts.how += fmt::format("; without METIS: {}", why);
    return parts;
}

}  // namespace

Parts parts_of(const SparsePattern& pattern, const SparsePartition& partition, SparsePreconditioner preconditioner, std::int64_t usual,
               std::int64_t max_parts) {
    const bool is_local = preconditioner == SparsePreconditioner::none || preconditioner == SparsePreconditioner::jacobi;
    const auto rows = partition.rows > 0 ? partition.rows : usual, most = partition.rows > 0 ? 0 : max_parts;
    if (partition.rows < 0)
        throw SpecError(fmt::format("a subdomain of {} rows; give at least 1, or 0 for the usual number", partition.rows));
    switch (partition.by) {
        case SparsePartitioning::box: {
            const auto mesh = mesh_of(pattern);
            if (!mesh)
                throw SpecError(
                    "subdomains are to be boxes of cells, but the rows are not the cells of a mesh, x first; give metis, greedy or given");
            const bool is_open = partition.box == std::array<std::int64_t, 3>{};
            return parts_of_boxes(*mesh, is_open ? box_of(*mesh, rows, most) : partition.box);
        }
        case SparsePartitioning::metis:
            return parts_by_metis(pattern, rows);
        case SparsePartitioning::greedy:
            return greedy_parts(pattern, rows);
        case SparsePartitioning::given:
            return given_parts(pattern, partition.parts);
        case SparsePartitioning::whole:
            return whole(pattern);
        case SparsePartitioning::automatic:
            break;
    }
    if (const auto mesh = mesh_of(pattern)) return parts_of_boxes(*mesh, box_of(*mesh, rows, most));
    return is_local ? greedy_parts(pattern, rows) : parts_by_metis(pattern, rows);
}

}  // namespace trifold::sparse
