#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

#include "generator/program/templates.hpp"
#include "generator/sparse/knobs.hpp"
#include "generator/sparse/layout.hpp"

namespace trifold::sparse {
namespace cpu {
namespace {

/// Whether 16 bits are enough for a row within a subdomain.
bool is_short(const Arrangement& a) { return a.largest_tile() <= std::numeric_limits<std::uint16_t>::max(); }

/// Lists of all shapes, one behind the other.
template <class Local>
struct Lists {
    std::vector<trifold_sparse_shape> shapes;
    std::vector<std::int32_t> starts;
    std::vector<Local> columns;
    std::vector<std::int64_t> lower, upper;  // blocks of a shape

    void add(const Shape& shape) {
        trifold_sparse_shape places{};
        places.lower_starts = static_cast<trifold_int>(starts.size());
        places.lower_columns = static_cast<trifold_int>(columns.size());
        lower.push_back(add_part(shape, [&](std::size_t row) { return std::pair(shape.starts[row], shape.diagonals[row]); }));
        places.upper_starts = static_cast<trifold_int>(starts.size());
        places.upper_columns = static_cast<trifold_int>(columns.size());
        upper.push_back(add_part(shape, [&](std::size_t row) { return std::pair(shape.diagonals[row], shape.starts[row + 1]); }));
        shapes.push_back(places);
    }

  private:
    template <class RangeOf>
    std::int64_t add_part(const Shape& shape, const RangeOf& range_of) {
        std::int32_t count = 0;
        starts.push_back(0);
        for (std::size_t row = 0; row < shape.diagonals.size(); ++row) {
            const auto [first, end] = range_of(row);
            for (auto k = first; k < end; ++k) columns.push_back(static_cast<Local>(shape.columns[static_cast<std::size_t>(k)]));
            starts.push_back(count += end - first);
        }
        return count;
    }
};

template <class Local>
Stored stored_by(const SparseSpec& spec, const Arrangement& a) {
    Lists<Local> lists;
    for (const auto& shape : a.shapes) lists.add(shape);
    std::vector<trifold_sparse_tile> tiles;
    // A block behind each part, which vectors reach into; and parts begin at lines of a cache of their own.
    const std::int64_t square = spec.block * spec.block, line = 64 / std::gcd<std::int64_t>(64, square * factor_bytes(spec));
    std::int64_t blocks = 0;
    for (std::size_t k = 0; k < a.tile_shapes.size(); ++k) {
        const auto shape = static_cast<std::size_t>(a.tile_shapes[k]);
        const auto lower = blocks, upper = round_up(lower + lists.lower[shape] + 1, line);
        tiles.push_back({a.tile_starts[k], a.tile_starts[k + 1] - a.tile_starts[k], a.tile_shapes[k], lower, upper});
        blocks = round_up(upper + lists.upper[shape] + 1, line);
    }
    Stored stored;
    stored.factor_elements = has_factors(spec) ? checked_multiply(blocks, square, "factors") : 0;
    stored.matrix_elements = checked_multiply(a.entries() + 1, square, "values");
    using Launch = trifold_sparse_launch;
    stored.add("starts", &Launch::starts, a.starts);
    stored.add("columns", &Launch::column, a.columns);
    stored.add("sources", &Launch::source, a.sources);
    stored.add("tiles", &Launch::tile, std::move(tiles));
    stored.add("shapes", &Launch::shape, std::move(lists.shapes));
    stored.add("local_starts", &Launch::local_starts, std::move(lists.starts));
    stored.add("local_columns", &Launch::local_columns, std::move(lists.columns));
    if (needs_transposed(spec)) stored.add(transpose(a));
    return stored;
}

Stored stored_of(const SparseSpec& spec, const Arrangement& a) {
    return is_short(a) ? stored_by<std::uint16_t>(spec, a) : stored_by<std::int32_t>(spec, a);
}

std::int64_t scratch_bytes(const SparseSpec& spec, const Arrangement& a, std::int64_t slice_rows) {
    constexpr std::int64_t line = 64, place = 4;
    const auto real = element_bytes(spec.precision);
    const auto rows = a.largest_tile();
    const auto vector = (std::max(rows, slice_rows) + 1) * spec.block * real;
    const auto factor = round_up(rows * place, line) + (a.widest_row() + 1) * spec.block * spec.block * real;
    return round_up(std::max(vector, factor) + line, workspace_alignment);
}

Unit unit_of(const SparseSpec& spec, const Target& target, const Arrangement& a) {
    auto text = title_of(spec, target) + common_constants(spec);
    const auto define = [&](std::string_view name, auto value) { text += fmt::format("#define TRIFOLD_{} {}\n", name, value); };
    define("LANES", std::bit_ceil(static_cast<std::uint64_t>(spec.block)));
    define("LOCAL_INDEX", is_short(a) ? "unsigned short" : "int");
    const auto kind = kind_of(spec) + (is_short(a) ? "" : "_wide");
    Unit unit{target, "sparse_" + kind, {}, {}, {}};
    for (const auto kernel : std::span(kernel_names).first(kernel_names.size() - 1)) {  // all but that of GPUs
        unit.kernels.push_back({fmt::format("sparse_{}_{}", kernel, kind), 1, 0});
        text += define_kernel(kernel, unit.kernels.back().name);
    }
    unit.source = with_constants(text, paste({"cpu/sparse/entry.c"}));
    unit.options = unit_options(target);
    for (const auto* option : {"-O2", "-Wno-psabi"}) unit.options.emplace_back(option);
    return unit;
}

}  // namespace
}  // namespace cpu

Backing cpu_backing(const SparseSpec& spec, const Target& target, const Arrangement& a, const Knobs& knobs) {
    Backing made{cpu::unit_of(spec, target, a), cpu::stored_of(spec, a)};
    made.launch.slice_rows = std::max<std::int64_t>(1, decide(knobs, spec, target, a.rows(), "slice_scalars") / spec.block);
    made.scratch_bytes = cpu::scratch_bytes(spec, a, made.launch.slice_rows);
    return made;
}

}  // namespace trifold::sparse
