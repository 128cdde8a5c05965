#include "runtime/sparse/metis.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <mutex>

namespace trifold::sparse {
namespace {

constexpr const char* library_name = "libmetis.so.5";
// Numbers of METIS 5 whose integers have 32 bits, as Debian builds it.
using Index = std::int32_t;
using PartGraph = int (*)(Index*, Index*, Index*, Index*, Index*, Index*, Index*, Index*, float*, float*, Index*, Index*, Index*);
constexpr int metis_ok = 1;
constexpr std::size_t metis_options = 40;

/// METIS_PartGraphKway; null where the library is not installed.
PartGraph part_graph() {
    static const auto function = [] {
        void* library = ::dlopen(library_name, RTLD_NOW | RTLD_LOCAL);  // never closed
        return library == nullptr ? nullptr : reinterpret_cast<PartGraph>(::dlsym(library, "METIS_PartGraphKway"));
    }();
    return function;
}

/// Neighbours of each row in A or A', itself left out.
struct Graph {
    std::vector<Index> starts{0}, neighbours;
    explicit Graph(const SparsePattern& pattern) {
        const auto from = pattern.starts();
        const auto columns = pattern.columns();
        const auto rows = static_cast<std::size_t>(pattern.rows());
        std::vector<std::vector<Index>> of_row(rows);
        for (std::size_t row = 0; row < rows; ++row)
            for (auto k = from[row]; k < from[row + 1]; ++k) {
                const auto column = columns[static_cast<std::size_t>(k)];
                if (static_cast<std::size_t>(column) == row) continue;
                of_row[row].push_back(column);
                of_row[static_cast<std::size_t>(column)].push_back(static_cast<Index>(row));
            }
        for (auto& list : of_row) {
            std::ranges::sort(list);
            list.erase(std::ranges::unique(list).begin(), list.end());
            neighbours.insert(neighbours.end(), list.begin(), list.end());
            starts.push_back(static_cast<Index>(neighbours.size()));
        }
    }
};

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
    const auto function = part_graph();
    if (function == nullptr) {
        why = fmt::format("{} is not installed (Debian's package libmetis5)", library_name);
        return std::nullopt;
    }
    constexpr std::int64_t most = std::numeric_limits<Index>::max() / 2;
    if (pattern.entries() > most) {
        why = fmt::format("{} entries are more than METIS counts", pattern.entries());
        return std::nullopt;
    }
    auto count = static_cast<Index>((pattern.rows() + rows - 1) / rows), vertices = static_cast<Index>(pattern.rows());
    Parts parts{std::vector<std::int32_t>(static_cast<std::size_t>(vertices), 0), count, "METIS"};
    if (count == 1) return parts;
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
    return parts;
}

}  // namespace trifold::sparse
