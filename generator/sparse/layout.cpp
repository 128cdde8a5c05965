#include "generator/sparse/layout.hpp"

#include <fmt/format.h>
#include <trifold/sparse_args.h>

#include <algorithm>
#include <cctype>

#include "generator/program/places.hpp"
#include "generator/sparse/fields.hpp"

namespace trifold::sparse {
namespace {

std::int64_t vector_count(const SparseSpec& spec) {
    if (!solves(spec)) return 1;
    // GMRES has no room for a best x: pointers to it are made, and not used.
    if (spec.method == SparseMethod::cg) return trifold_sparse_vectors_of_cg;
    if (spec.method == SparseMethod::bicgstab) return trifold_sparse_vectors_of_bicgstab;
    return trifold_sparse_basis + spec.restart + 1;
}

}  // namespace

bool solves(const SparseSpec& spec) {
    return spec.operations.contains(SparseOperation::solve) || spec.operations.contains(SparseOperation::solve_transposed);
}
bool needs_transposed(const SparseSpec& spec) {
    return spec.method == SparseMethod::cg || spec.operations.contains(SparseOperation::solve_transposed) ||
           spec.operations.contains(SparseOperation::multiply_transposed);
}
bool has_factors(const SparseSpec& spec) { return properties_of(spec.preconditioner).has_factors; }
std::int64_t factor_bytes(const SparseSpec& spec) { return spec.precision == Precision::f64 ? 8 : 4; }

Layout layout_of(const SparseSpec& spec, const Arrangement& a, Stored stored, const trifold_sparse_launch& launch) {
    constexpr std::int64_t wide = 8, padding = 1;  // a block behind the last one, which vectors reach into
    const auto real = element_bytes(spec.precision);
    Layout layout{{}, 0, launch, {}};
    Places places;
    auto& l = layout.launch;
    l.rows = a.rows();
    l.entries = a.entries();
    l.tiles = a.tiles();
    l.slices = (l.rows + l.slice_rows - 1) / l.slice_rows;
    l.parts = std::max(l.tiles, l.slices);
    l.systems = spec.rhs;
    l.restart = spec.restart;
    stored.add("order", &trifold_sparse_launch::order, a.order);
    for (std::size_t k = 0; k < stored.contents.size(); ++k) {
        const auto& [name, bytes] = stored.contents[k];
        l.*stored.places[k] = places.add(name, bytes.size(), 1);
    }
    layout.contents = std::move(stored.contents);
    l.matrix_stride = round_up(checked_multiply(stored.matrix_elements, real, "values"), workspace_alignment);
    l.matrix = places.add("matrix", spec.batch, l.matrix_stride);
    l.scale_stride =
        round_up(checked_multiply(a.rows(), spec.block * static_cast<std::int64_t>(sizeof(std::int32_t)), "scales"), workspace_alignment);
    l.scales = places.add("scales", spec.batch, l.scale_stride);
    if (needs_transposed(spec)) l.column_scales = places.add("column_scales", spec.batch, l.scale_stride);
    l.factor_stride = round_up(checked_multiply(stored.factor_elements, factor_bytes(spec), "factors"), workspace_alignment);
    l.factors = places.add("factors", spec.batch, l.factor_stride);
    const auto systems = spec.batch * spec.rhs;
    l.vector_count = vector_count(spec);
    l.vector_stride = round_up(checked_multiply(a.rows() + padding, spec.block * real, "vectors"), workspace_alignment);
    l.vectors = places.add("vectors", checked_multiply(systems, l.vector_count, "vectors"), l.vector_stride);
    l.records = places.add("records", checked_multiply(spec.batch, l.parts + 1, "records"), sizeof(trifold_sparse_record));
    if (solves(spec)) {
        l.sums = places.add("sums", checked_multiply(systems, l.parts, "sums"), trifold_sparse_sums * wide);
        l.states = places.add("states", systems, sizeof(trifold_sparse_state));
        l.history_length = std::min(spec.maxiter, max_sparse_history) + 1;
        l.history = places.add("history", checked_multiply(systems, l.history_length, "history"), wide);
        l.flag = places.add("flag", 2, wide);
        constexpr std::int64_t line = 128;  // counters of members are apart
        if (l.near_all > 0) l.meetings = places.add("meetings", spec.batch, line, true);
        if (spec.method == SparseMethod::gmres) {
            constexpr std::int64_t lists = 4;  // rotations, the right-hand side and its solution
            l.small = places.add("small", checked_multiply(systems, (spec.restart + lists) * (spec.restart + 1), "small matrices"), wide);
        }
    }
    layout.bytes = places.bytes();
    layout.buffers = places.take();
    return layout;
}

namespace {

/// Preconditioners that have one text: patterns are the plan's, and so are entries that the pattern leaves out.
std::string_view factors_of(const SparseSpec& spec) {
    if (!has_factors(spec)) return "none";
    return properties_of(spec.preconditioner).diagonal_alone ? "dilu" : "ildu";
}

}  // namespace

std::string kind_of(const SparseSpec& spec) {
    return fmt::format("b{}_{}_{}_{}", spec.block, to_string(spec.precision), factors_of(spec), to_string(spec.method));
}

std::string title_of(const SparseSpec& spec, const Target& target) {
    return fmt::format(
        "/* Trifold: A x = b with sparse A of blocks of {} rows ({}), factors {} by subdomains, method {}; target {}.\n"
        " * Generated; do not edit. It serves every pattern: launches say which. */\n",
        spec.block, to_string(spec.precision), factors_of(spec), to_string(spec.method), to_string(target));
}

std::string common_constants(const SparseSpec& spec) {
    std::string text;
    const auto define = [&](std::string_view name, auto value) { text += fmt::format("#define TRIFOLD_{} {}\n", name, value); };
    const auto type = [](std::int64_t bytes) { return bytes == sizeof(float) ? "float" : "double"; };
    define("REAL", type(element_bytes(spec.precision)));
    define("REAL_BYTES", element_bytes(spec.precision));
    define("FACTOR", type(factor_bytes(spec)));
    define("FACTOR_BYTES", factor_bytes(spec));
    define("BLOCK", spec.block);
    define("DIAGONAL_ALONE", properties_of(spec.preconditioner).diagonal_alone ? 1 : 0);
    define("HAS_FACTORS", has_factors(spec) ? 1 : 0);
    define("KRYLOV", static_cast<int>(spec.method));
    define("SIZEOF_ARGS", sizeof(trifold_sparse_args));
    define("SIZEOF_LAUNCH", sizeof(trifold_sparse_launch));
    define("SIZEOF_RECORD", sizeof(trifold_sparse_record));
    define("SIZEOF_STATE", sizeof(trifold_sparse_state));
    return text;
}

}  // namespace trifold::sparse
