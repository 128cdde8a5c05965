#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <mutex>
#include <numeric>
#include <trifold/error.hpp>

#include "generator/program/sha256.hpp"
#include "generator/sparse/fields.hpp"
#include "runtime/base/symbols.hpp"
#include "runtime/compile/cache.hpp"
#include "runtime/sparse/plan.hpp"

namespace trifold::sparse {
namespace {

// Numbers of METIS 5 whose integers have 32 bits, as Debian builds it.
using Index = std::int32_t;
using PartGraph = int (*)(Index*, Index*, Index*, Index*, Index*, Index*, Index*, Index*, float*, float*, Index*, Index*, Index*);
constexpr int metis_ok = 1;
constexpr std::size_t metis_options = 40;

/// Neighbours of each row in A or A', itself left out.
struct Graph {
    std::vector<Index> starts{0}, neighbours;
    explicit Graph(const SparsePattern& pattern) {
        const auto from = pattern.starts();
        const auto columns = pattern.columns();
        const auto rows = static_cast<std::size_t>(pattern.rows());
        // A by columns, whose rows ascend as columns of rows do.
        std::vector<std::int64_t> transposed(rows + 1, 0);
        for (const auto column : columns) ++transposed[static_cast<std::size_t>(column) + 1];
        std::partial_sum(transposed.begin(), transposed.end(), transposed.begin());
        auto next = transposed;
        std::vector<Index> others(columns.size());
        for (std::size_t row = 0; row < rows; ++row)
            for (auto k = from[row]; k < from[row + 1]; ++k)
                others[static_cast<std::size_t>(next[static_cast<std::size_t>(columns[static_cast<std::size_t>(k)])]++)] =
                    static_cast<Index>(row);
        starts.reserve(rows + 1);
        neighbours.reserve(2 * columns.size());
        std::vector<Index> both;
        for (std::size_t row = 0; row < rows; ++row) {
            both.clear();
            std::set_union(columns.begin() + from[row], columns.begin() + from[row + 1], others.begin() + transposed[row],
                           others.begin() + transposed[row + 1], std::back_inserter(both));
            for (const auto other : both)
                if (static_cast<std::size_t>(other) != row) neighbours.push_back(other);
            starts.push_back(static_cast<Index>(neighbours.size()));
        }
    }
};

/// The name under which a partition is kept on disk: of all that decides it.
std::string name_of(const SparsePattern& pattern, Index count) {
    return sha256(fmt::format("{} partition 2 {} {}", MetisLibrary::name, count, pattern.hash()));
}

/// A partition that was kept. METIS takes longer than all else that a plan does.
std::optional<Parts> find_parts(const Cache& cache, const std::string& name, std::int64_t rows) {
    const auto kept = cache.find_data(name);
    if (!kept || static_cast<std::int64_t>(kept->pieces.front().size()) != rows * static_cast<std::int64_t>(sizeof(Index)))
        return std::nullopt;
    Parts parts{std::vector<std::int32_t>(static_cast<std::size_t>(rows)), 0, "METIS, kept on disk"};
    std::ranges::copy(kept->pieces.front(), std::as_writable_bytes(std::span(parts.of_row)).begin());
    parts.count = *std::ranges::max_element(parts.of_row) + 1;
    return parts;
}
void keep_parts(const Cache& cache, const std::string& name, const Parts& parts) {
    cache.publish_data(name, {std::as_bytes(std::span(parts.of_row))});
}

/// Numbers subdomains without gaps, in their order.
void close_gaps(Parts& parts) {
    std::vector<std::int32_t> number(static_cast<std::size_t>(parts.count), 0);
    for (const auto part : parts.of_row) number[static_cast<std::size_t>(part)] = 1;
    std::int32_t next = 0;
    for (auto& entry : number) entry = entry == 0 ? -1 : next++;
    for (auto& part : parts.of_row) part = number[static_cast<std::size_t>(part)];
    parts.count = next;
}

}  // namespace

std::optional<Parts> metis_parts(const SparsePattern& pattern, std::int64_t rows, std::string& why) {
    auto count = static_cast<Index>((pattern.rows() + rows - 1) / rows), vertices = static_cast<Index>(pattern.rows());
    if (count == 1) return whole(pattern);
    Parts parts{std::vector<std::int32_t>(static_cast<std::size_t>(vertices), 0), count, "METIS"};
    const auto cache = Cache::from_environment();
    const auto name = name_of(pattern, count);
    if (auto kept = find_parts(cache, name, pattern.rows())) return kept;
    const auto& library = metis_library();
    const auto function = reinterpret_cast<PartGraph>(library.part_graph);
    if (function == nullptr) {
        why = library.problem;
        return std::nullopt;
    }
    constexpr std::int64_t most = std::numeric_limits<Index>::max() / 2;
    if (pattern.entries() > most) {
        why = fmt::format("{} entries are more than METIS counts", pattern.entries());
        return std::nullopt;
    }
    Graph graph(pattern);
    std::array<Index, metis_options> options;
    options.fill(-1);  // its own choices, which are the same each time
    Index constraints = 1, cut = 0;
    float imbalance = 1.01F;
    static std::mutex one;  // its state of random numbers is the process's
    const std::lock_guard lock(one);
    const int result = function(&vertices, &constraints, graph.starts.data(), graph.neighbours.data(), nullptr, nullptr, nullptr, &count,
                                nullptr, &imbalance, options.data(), &cut, parts.of_row.data());
    if (result != metis_ok) {
        why = fmt::format("METIS returned {}", result);
        return std::nullopt;
    }
    close_gaps(parts);
    keep_parts(cache, name, parts);
    return parts;
}

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
    const bool is_local = !properties_of(preconditioner).has_triangles;
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
