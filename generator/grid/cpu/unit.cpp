#include <fmt/format.h>

#include <algorithm>

#include "generator/grid/cpu/cpu.hpp"
#include "generator/grid/layout.hpp"
#include "generator/program/templates.hpp"

namespace trifold::grid::cpu {
namespace {

std::string constants_text(const GridSpec& spec, const Target& target) {
    const auto tile = tile_of(spec, target);
    const auto& device = device_of(target);
    std::string text;
    const auto define = [&](std::string_view name, auto value) { text += fmt::format("#define TRIFOLD_{} {}\n", name, value); };
    define("REAL", spec.precision == Precision::f32 ? "float" : "double");
    define("REAL_BYTES", element_bytes(spec.precision));
    define("LANES", tile.lanes);
    define("STRIPS", tile.strips);
    define("COLUMNS", tile.columns);
    define("SYMMETRIC", spec.matrix == GridMatrix::symmetric ? 1 : 0);
    define("PIVOTING", spec.pivoting == GridPivoting::partial ? 1 : 0);
    define("SLICE", device.count("models.grid.slice"));
    define("BAND", device.count("models.grid.band"));
    define("SIZEOF_ARGS", sizeof(trifold_grid_args));
    define("SIZEOF_LAUNCH", sizeof(trifold_grid_launch));
    define("SIZEOF_RECORD", sizeof(trifold_grid_record));
    define("SIZEOF_STATUS", sizeof(trifold_grid_status));
    return text;
}

}  // namespace

/// Registers hold as many accumulators as there is room for next to a column of rows and a multiplier. Vectors have at least four lanes, so
/// that a strip holds whole columns of a tile.
Tile tile_of(const GridSpec& spec, const Target& target) {
    constexpr std::int64_t min_lanes = 4, max_strips = 3, narrow = 4, wide = 8;
    const auto real = element_bytes(spec.precision), lanes = std::max(vector_bytes(target) / real, min_lanes);
    const auto vectors = vector_registers(target) / (lanes * real / vector_bytes(target));  // that registers hold
    const auto columns = lanes >= wide && vectors > max_strips * wide + max_strips ? wide : narrow;
    const auto strips = std::clamp<std::int64_t>((vectors - 1) / (columns + 1), 1, max_strips);
    return {lanes, strips, columns};
}

Unit unit_of(const GridSpec& spec, const Target& target) {
    const auto name = fmt::format("grid_{}_{}", kind_of(spec), to_string(spec.precision));
    auto text = title_of(spec, target) + constants_text(spec, target);
    Unit unit{target, name, {}, {}, {}};
    for (const auto kernel : kernel_names) {
        unit.kernels.push_back({fmt::format("grid_{}_{}_{}", kernel, kind_of(spec), to_string(spec.precision)), 1, 0});
        text += define_kernel(kernel, unit.kernels.back().name);
    }
    unit.source = with_constants(text, paste({"cpu/grid/entry.c"}));
    // Products are vectors already: looking for more of them takes a third of the time to compile, and makes nothing faster.
    // Loops that begin where they happen to take up to a tenth more time, whenever something before them changes.
    unit.options = unit_options(target);
    for (const auto* option :
         {"-O2", "-fno-unroll-loops", "-falign-loops=32", "-fno-tree-vectorize", "-fno-tree-slp-vectorize", "-Wno-psabi"})
        unit.options.emplace_back(option);
    constexpr int longest = 64;
    if (vector_bytes(target) == longest) unit.options.push_back("-mprefer-vector-width=512");
    return unit;
}

}  // namespace trifold::grid::cpu
