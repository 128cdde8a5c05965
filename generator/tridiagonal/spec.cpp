#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <trifold/error.hpp>

#include "generator/program/words.hpp"
#include "generator/tridiagonal/fields.hpp"

namespace trifold {

nlohmann::json encode(const BlockLayout& layout) { return to_json(layout_fields, &layout); }
void decode(BlockLayout& to, const nlohmann::json& value, const std::string& where) {
    if (!value.is_object()) throw SpecError(fmt::format("{} is {}, which is no object", where, value.dump()));
    read_json(layout_fields, &to, value);
}

namespace {

constexpr Field layout_table[] = {
    field<&BlockLayout::leading>("leading", "leading dimension of a block"),
    field<&BlockLayout::stage>("stage", "from one stage to the next; 0: one block for all"),
    field<&BlockLayout::member>("member", "from one member to the next; 0: shared by all"),
};
constexpr Field spec_table[] = {
    field<&Spec::block>("block", "block size n", 1, max_block),
    field<&Spec::horizon>("horizon", "number of diagonal blocks N", 1),
    field<&Spec::precision>("precision", "of all arrays; mixed: factored in f32"),
    field<&Spec::matrix>("matrix", "positive-definite; symmetric, with pivots of both signs; or general, with blocks U above the diagonal"),
    field<&Spec::rhs>("rhs", "right-hand sides m solved at once", 1),
    field<&Spec::batch>("batch", "systems solved at once", 1),
    field<&Spec::order>("order", "storage of one block"),
    field<&Spec::coupling>("coupling", "half that E holds: lower, A(i+1, i), or upper, A(i, i+1)"),
    field<&Spec::rhs_layout>("rhs_layout", "staged: [batch][N][n][m]; stacked: (N n) by m, column-major"),
    field<&Spec::d>("d", "strides of D"),
    field<&Spec::e>("e", "strides of E"),
    field<&Spec::ring>("ring", "whether E has a block N, which couples the last block to the first"),
    field<&Spec::border>("border", "rows of F and C in [T F'; F C], where T is the chain; 0: none", 0, max_border),
    field<&Spec::lengths>("lengths", "whether each system has a number of blocks of its own, up to N"),
    field<&Spec::sizes>("sizes", "whether each block has a number of rows of its own, up to n"),
    field<&Spec::bandwidth>("bandwidth", "blocks w that E has below each diagonal block", 1, max_block),
    field<&Spec::operations>("operations", "calls to come"),
};

std::int64_t blocks_extent(const Spec& spec, const Strides& strides, std::int64_t stages, std::int64_t members, std::string_view what) {
    if (stages == 0 || members == 0) return 0;
    const auto last = spec.block - 1;
    auto extent = checked_add(checked_multiply(last, strides.row, what), checked_multiply(last, strides.column, what), what);
    extent = checked_add(extent, checked_multiply(stages - 1, strides.stage, what), what);
    extent = checked_add(extent, checked_multiply(members - 1, strides.member, what), what);
    return checked_add(extent, 1, what);
}

/// `depth`: blocks of a stage.
Strides block_strides(const Spec& spec, const BlockLayout& layout, std::int64_t stages, std::string_view what, std::int64_t depth = 1) {
    const auto n = spec.block;
    const auto leading = layout.leading == dense ? n : layout.leading;
    const auto stage = layout.stage == dense ? checked_multiply(checked_multiply(n, leading, what), depth, what) : layout.stage;
    const auto member = layout.member == dense ? checked_multiply(std::max<std::int64_t>(stages, 1), stage, what) : layout.member;
    if (spec.order == Order::row_major) return {leading, 1, stage, member};
    return {1, leading, stage, member};
}

void check_layout(const Spec& spec, const BlockLayout& layout, std::int64_t stages, std::string_view what, std::int64_t depth = 1) {
    const auto n = spec.block;
    if (layout.leading != dense && layout.leading < n)
        throw SpecError(fmt::format("leading dimension of {} is {}; give at least the block size {}", what, layout.leading, n));
    if (layout.stage < dense || layout.member < dense)
        throw SpecError(
            fmt::format("strides of {} are {} (stage) and {} (member); give 0 to share one block, or a positive number of elements", what,
                        layout.stage, layout.member));
    const auto strides = block_strides(spec, layout, stages, what, depth);
    const auto footprint = checked_add(checked_multiply(n - 1, std::max(strides.row, strides.column), what), n, what);
    if (strides.stage != 0 && strides.stage < footprint && stages > 1)
        throw SpecError(fmt::format("stage stride of {} is {}, so blocks overlap; give 0 or at least {}", what, strides.stage, footprint));
    const auto member_footprint =
        checked_add(checked_multiply(std::max<std::int64_t>(stages - 1, 0), strides.stage, what), footprint, what);
    if (strides.member != 0 && strides.member < member_footprint && spec.batch > 1)
        throw SpecError(
            fmt::format("member stride of {} is {}, so members overlap; give 0 or at least {}", what, strides.member, member_footprint));
}

void check_operations(const Operations& operations) {
    if (operations.contains(Operation::factor) || operations.contains(Operation::factor_forward) ||
        operations.contains(Operation::factor_solve))
        return;
    throw SpecError(
        fmt::format("the operations ({}) hold none that factors, which the others need; add factor, factor_forward or factor_solve",
                    operations.empty() ? "none" : to_string(operations)));
}

/// Results of the factor alone would have the accuracy of f32. generate() leaves sweeps out, since they are among the usual operations. The
/// inverse is refused, since somebody asked for it.
void check_mixed(const Spec& spec) {
    if (spec.precision == Precision::mixed && spec.operations.contains(Operation::inverse))
        throw SpecError("mixed precision refines solutions, and the selected inverse is none; give precision f64, or leave inverse out");
    if (spec.precision == Precision::mixed && !spec.operations.contains(Operation::factor) &&
        !spec.operations.contains(Operation::factor_solve))
        throw SpecError(fmt::format("mixed precision has the operations factor, solve and factor_solve, not {}; add one that factors",
                                    to_string(spec.operations)));
}

void check_lengths(const Spec& spec) {
    if (spec.precision == Precision::mixed) throw SpecError("mixed precision has no lengths; give precision f64");
    if (spec.ring) throw SpecError("a ring has no end, so its members have no lengths of their own; leave ring or lengths out");
    if (spec.horizon > std::numeric_limits<int>::max())
        throw SpecError(fmt::format("lengths are for at most {} blocks, not for {}", std::numeric_limits<int>::max(), spec.horizon));
}

/// Parts of blocks that kernels take for whole ones.
void check_views(const Spec& spec) {
    const auto what = spec.sizes ? "sizes" : "bandwidth";
    if (spec.precision == Precision::mixed) throw SpecError(fmt::format("mixed precision has no {}; give precision f64", what));
    if (spec.ring && spec.sizes) throw SpecError("a ring with sizes is not there yet; leave one of them out");
    if (spec.bandwidth == 1) return;
    if (spec.sizes || spec.lengths)
        throw SpecError(
            fmt::format("bandwidth and {} are not there yet together; leave one of them out", spec.sizes ? "sizes" : "lengths"));
    if (spec.bandwidth * spec.block > max_block)
        throw SpecError(fmt::format("a band of {} blocks of {} is solved by blocks of {}; give at most {}", spec.bandwidth, spec.block,
                                    spec.bandwidth * spec.block, max_block));
    if (spec.ring && spec.horizon % spec.bandwidth != 0) {
        auto more = std::min(spec.bandwidth, spec.horizon);
        while (spec.horizon % more != 0) ++more;
        throw SpecError(fmt::format(
            "a ring of {} blocks is solved by {} at a time, and {} are left at its seam; give bandwidth = {}, with zeros in E beyond {}",
            spec.horizon, spec.bandwidth, spec.horizon % spec.bandwidth, more, spec.bandwidth));
    }
}

void check_signs(const Spec& spec) {
    if (spec.precision == Precision::mixed)
        throw SpecError("mixed precision is for positive definite matrices; give precision f64, or leave matrix out");
    if (spec.border > 0) throw SpecError("a symmetric matrix with a border is not there yet; leave border or matrix out");
}

void check_general(const Spec& spec) {
    if (spec.precision == Precision::mixed)
        throw SpecError("mixed precision is for positive definite matrices; give precision f64, or leave matrix out");
    if (spec.coupling == Coupling::upper)
        throw SpecError("E of a general matrix is its lower half, and U its upper one; give coupling lower");
    if (spec.operations.contains(Operation::inverse)) throw SpecError("a general matrix has no selected inverse yet; leave inverse out");
    const auto* shape = spec.border > 0 ? "border" : spec.lengths ? "lengths" : spec.sizes ? "sizes" : "bandwidth";
    if (spec.border > 0 || spec.lengths || spec.sizes || spec.bandwidth > 1)
        throw SpecError(fmt::format("a general matrix with {} is not there yet; leave one of them out", shape));
}

void check_refine(const Spec& spec) {
    if (!spec.operations.contains(Operation::refine)) return;
    if (spec.precision == Precision::mixed)
        throw SpecError("mixed precision refines every solution by itself; leave refine out of the operations");
    if (spec.border > 0)
        throw SpecError("refinement with a border is not there yet; leave refine out, and solve for b - A x to add that to x");
}

/// Refuses what needs D and E after they are overwritten, or has parts of blocks.
void check_load(const Spec& spec) {
    if (!spec.operations.contains(Operation::load)) return;
    const auto* with = spec.matrix != MatrixKind::positive_definite  ? "matrices that are not positive definite"
                       : spec.precision == Precision::mixed          ? "mixed precision"
                       : spec.operations.contains(Operation::refine) ? "refine, which reads D and E again"
                       : spec.lengths                                ? "lengths"
                       : spec.sizes                                  ? "sizes"
                       : spec.bandwidth > 1                          ? "bandwidth"
                       : spec.ring && spec.horizon < 3               ? "a ring of fewer than 3 blocks"
                                                                     : nullptr;
    if (with != nullptr)
        throw SpecError(fmt::format("load overwrites D and E by the factor, and is not there with {}; leave one of them out", with));
}

void check_shape(const Spec& spec) {
    check_refine(spec);
    check_load(spec);
    if (spec.matrix == MatrixKind::symmetric) check_signs(spec);
    if (spec.matrix == MatrixKind::general)
        check_general(spec);
    else if (spec.operations.contains(Operation::solve_transposed))
        throw SpecError("solve_transposed is for general matrices, and this one is its own transpose; give solve");
    if (spec.lengths) check_lengths(spec);
    if (spec.sizes || spec.bandwidth > 1) check_views(spec);
    if (spec.precision == Precision::mixed && spec.ring) throw SpecError("mixed precision has no rings; give precision f64");
    if (spec.border == 0) return;
    if (spec.precision == Precision::mixed) throw SpecError("mixed precision has no border; give precision f64");
    checked_multiply(checked_multiply(spec.batch, spec.horizon, "size of F"), spec.border * spec.block * element_bytes(spec.precision),
                     "size of F in bytes");
}

}  // namespace

std::int64_t couplings_of(const Spec& spec) { return spec.ring || spec.bandwidth > 1 ? spec.horizon : spec.horizon - 1; }

std::int64_t solved_blocks(const Spec& spec) { return (spec.horizon + spec.bandwidth - 1) / spec.bandwidth; }
Spec folded(const Spec& spec) {
    auto result = spec;
    result.block *= spec.bandwidth;
    result.horizon = solved_blocks(spec);
    return result;
}

constinit const Fields layout_fields{"a layout", R"({"leading": 16})", layout_table, &usual_of<BlockLayout>};
constinit const Fields spec_fields{"a spec", R"({"block": 12, "horizon": 20})", spec_table, &usual_of<Spec>};

std::string_view to_string(Operation operation) { return name_of(operation); }
Operations all_operations() {
    auto all = all_values<Operation>();
    all.erase(Operation::solve_transposed);
    all.erase(Operation::refine);
    all.erase(Operation::load);
    return all;
}

Operations usual_operations() {
    auto usual = all_operations();
    usual.erase(Operation::inverse);
    return usual;
}

Operations parse_operations(std::string_view text) {
    if (text == "all") return all_operations();
    Operations operations;
    for (const auto word : split(text, ',')) {
        const auto& names = names_of<Operation>;
        const auto found = std::ranges::find(names, word);
        if (found == names.end())
            throw SpecError(
                fmt::format("unknown operation '{}' in '{}'; give all, or some of {}", word, text, to_string(all_values<Operation>())));
        operations.insert(static_cast<Operation>(found - names.begin()));
    }
    return operations;
}

std::string to_string(const Operations& operations) {
    std::string text;
    for (const auto operation : operations) text += fmt::format("{}{}", text.empty() ? "" : ",", to_string(operation));
    return text;
}

void validate(const Spec& spec) {
    check_ranges(spec_fields, &spec);
    check_operations(spec.operations);
    check_mixed(spec);
    check_shape(spec);
    check_layout(spec, spec.d, spec.horizon, "D");
    check_layout(spec, spec.e, couplings_of(spec), "E", spec.bandwidth);
    const auto bytes = element_bytes(spec.precision);
    checked_multiply(diagonal_extent(spec, spec.batch), bytes, "size of D in bytes");
    checked_multiply(coupling_extent(spec, spec.batch), bytes, "size of E in bytes");
    checked_multiply(rhs_extent(spec, spec.batch, spec.rhs), bytes, "size of B in bytes");
}

nlohmann::json to_json(const Spec& spec) { return to_json(spec_fields, &spec); }

Spec parse_spec_json(const nlohmann::json& tree) {
    Spec spec;
    read_json(spec_fields, &spec, tree);
    validate(spec);
    return spec;
}

Strides diagonal_strides(const Spec& spec) { return block_strides(spec, spec.d, spec.horizon, "size of D"); }

Strides coupling_strides(const Spec& spec) {
    auto strides = block_strides(spec, spec.e, couplings_of(spec), "size of E", spec.bandwidth);
    if (spec.coupling == Coupling::upper) std::swap(strides.row, strides.column);
    return strides;
}

std::int64_t band_stride(const Spec& spec) { return spec.block * (spec.e.leading == dense ? spec.block : spec.e.leading); }

Strides rhs_strides(const Spec& spec, std::int64_t columns) {
    const auto rows = checked_multiply(spec.horizon, spec.block, "rows of B");
    const auto member = checked_multiply(rows, columns, "size of B");
    if (spec.rhs_layout == RhsLayout::stacked) return {1, rows, spec.block, member};
    return {columns, 1, checked_multiply(spec.block, columns, "size of B"), member};
}

std::int64_t diagonal_extent(const Spec& spec, std::int64_t members) {
    return blocks_extent(spec, diagonal_strides(spec), spec.horizon, members, "size of D");
}

std::int64_t coupling_extent(const Spec& spec, std::int64_t members) {
    const auto extent = blocks_extent(spec, coupling_strides(spec), couplings_of(spec), members, "size of E");
    return extent == 0 ? 0 : checked_add(extent, checked_multiply(spec.bandwidth - 1, band_stride(spec), "size of E"), "size of E");
}

std::int64_t rhs_extent(const Spec& spec, std::int64_t members, std::int64_t columns) {
    return checked_multiply(rhs_strides(spec, columns).member, members, "size of B");
}

Spec chain_of(const Spec& spec) {
    auto result = spec;
    result.border = 0;
    result.rhs += spec.border;
    result.operations = {Operation::factor_forward, Operation::forward, Operation::backward};
    for (const auto more : {Operation::inverse, Operation::load})
        if (spec.operations.contains(more)) result.operations.insert(more);
    return result;
}

Spec tip_of(const Spec& spec) {
    Operations operations{Operation::factor, Operation::factor_forward, Operation::forward, Operation::backward};
    if (spec.operations.contains(Operation::inverse)) operations.insert(Operation::inverse);
    return {.block = spec.border,
            .horizon = 1,
            .precision = spec.precision,
            .rhs = spec.rhs,
            .batch = spec.batch,
            .rhs_layout = spec.rhs_layout,
            .operations = operations};
}

}  // namespace trifold
