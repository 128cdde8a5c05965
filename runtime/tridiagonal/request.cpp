#include "runtime/tridiagonal/request.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <trifold/error.hpp>

namespace trifold {
namespace {

trifold_strides kernel_strides(const Strides& s) { return {s.row, s.column, s.stage, s.member}; }

}  // namespace

const char* to_string(Array array) {
    static constexpr const char* names[]{"D",
                                         "E",
                                         "B",
                                         "X",
                                         "the added diagonal",
                                         "shift",
                                         "active",
                                         "the inverse's diagonal",
                                         "the inverse's coupling",
                                         "F",
                                         "C",
                                         "the tip of B",
                                         "the tip of X",
                                         "lengths",
                                         "sizes",
                                         "U"};
    return names[static_cast<std::size_t>(array)];
}

std::span<const Array> listed(Operation operation) {
    static constexpr Array factored[]{Array::d, Array::e, Array::b, Array::x}, swept[]{Array::b, Array::x},
        inverted[]{Array::inverse_diagonal, Array::inverse_coupling};
    if (operation == Operation::factor || operation == Operation::load) return std::span(factored).first(2);
    if (factors(operation) || operation == Operation::refine) return factored;
    if (operation == Operation::inverse) return inverted;
    return swept;
}

Request request_of(const Spec& spec, Operation operation, std::span<const AnyArray> arrays, const CallOptions& options) {
    const auto kinds = listed(operation);
    if (arrays.size() != kinds.size())
        throw SpecError(fmt::format("{} has {} arrays, not {}", to_string(operation), kinds.size(), arrays.size()));
    Request request{operation,
                    options.members,
                    options.columns,
                    options.pivot_floor,
                    options.accept_nearly_singular,
                    options.first_block,
                    options.blocks,
                    {}};
    const auto set = [&](Array kind, const AnyArray& array) {
        if (element_bytes(array.precision) != element_bytes(spec.precision))
            throw SpecError(fmt::format("{} is {} and the plan is specialized for {}", to_string(kind), to_string(array.precision),
                                        to_string(spec.precision)));
        request[kind] = array.data;
    };
    for (std::size_t k = 0; k < kinds.size(); ++k) set(kinds[k], arrays[k]);
    if (options.diagonal) set(Array::diagonal, *options.diagonal);
    if (options.shift) set(Array::shift, *options.shift);
    const std::pair<Array, const std::optional<AnyArray>*> border[]{
        {Array::f, &options.f}, {Array::c, &options.c}, {Array::tip_b, &options.tip_b}, {Array::tip_x, &options.tip_x}};
    for (const auto& [kind, array] : border) {
        if (!*array) continue;
        if (spec.border == 0)
            throw SpecError(fmt::format("{} is of a border, and the Spec has none; give its rows as `border`", to_string(kind)));
        const bool is_tip = kind == Array::tip_b || kind == Array::tip_x;
        if (is_tip ? sweeps(operation) : factors(operation) || operation == Operation::inverse) set(kind, **array);
    }
    if (options.u && spec.matrix != MatrixKind::general)
        throw SpecError("U holds blocks above the diagonal, and this matrix is symmetric; leave it out, or set matrix to general");
    if (options.u && (factors(operation) || operation == Operation::refine)) set(Array::u, *options.u);
    request[Array::active] = options.active;
    if (options.lengths != nullptr && !spec.lengths) throw SpecError("the call has lengths, and the Spec has none; set its `lengths`");
    if (options.sizes != nullptr && !spec.sizes) throw SpecError("the call has sizes, and the Spec has none; set its `sizes`");
    if (factors(operation)) request[Array::lengths] = options.lengths, request[Array::sizes] = options.sizes;
    return request;
}

RequestArrays::RequestArrays(const Spec& spec, const Request& request) {
    const auto real = element_bytes(spec.precision);
    const auto add_reals = [&](Array array, std::int64_t elements) { add(request, array, elements * real, real); };
    const auto members = request.members, n = spec.block;
    if (request.operation == Operation::load) {
        const auto couplings = std::min(request.blocks, couplings_of(spec) - request.first_block);
        add_reals(Array::d, diagonal_extent(spec, members) - (spec.horizon - request.blocks) * diagonal_strides(spec).stage);
        add_reals(Array::e,
                  couplings == 0 ? 0 : coupling_extent(spec, members) - (couplings_of(spec) - couplings) * coupling_strides(spec).stage);
        return;
    }
    const bool is_loaded = spec.operations.contains(Operation::load);
    if (factors(request.operation) || request.operation == Operation::refine) {
        if (!is_loaded) add_reals(Array::d, diagonal_extent(spec, members));
        if (!is_loaded) add_reals(Array::e, coupling_extent(spec, members));
        if (spec.matrix == MatrixKind::general) add_reals(Array::u, coupling_extent(spec, members));
        add_reals(Array::diagonal, members * spec.horizon * n);
        add_reals(Array::shift, members);
        if (spec.border > 0) add_reals(Array::f, members * spec.horizon * spec.border * n);
        if (spec.border > 0) add_reals(Array::c, members * spec.border * spec.border);
    }
    if (sweeps(request.operation)) {
        const auto extent = rhs_extent(spec, members, request.columns);
        add_reals(Array::b, extent);
        add_reals(Array::x, extent);
        if (spec.border > 0) add_reals(Array::tip_b, members * spec.border * request.columns);
        if (spec.border > 0) add_reals(Array::tip_x, members * spec.border * request.columns);
    }
    if (request.operation == Operation::inverse) {
        const auto blocks = solved_blocks(spec), rows = n * spec.bandwidth;
        add_reals(Array::inverse_diagonal, members * blocks * rows * rows);
        add_reals(Array::inverse_coupling, members * (blocks - (spec.ring ? 0 : 1)) * rows * rows);
        if (spec.border > 0) add_reals(Array::f, members * spec.horizon * spec.border * n);
        if (spec.border > 0) add_reals(Array::c, members * spec.border * spec.border);
    }
    const auto add_numbers = [&](Array array, std::int64_t each) {
        add(request, array, members * each * static_cast<std::int64_t>(sizeof(int)), alignof(int));
    };
    add_numbers(Array::active, 1);
    if (spec.lengths && factors(request.operation)) add_numbers(Array::lengths, 1);
    if (spec.sizes && factors(request.operation)) add_numbers(Array::sizes, spec.horizon);
}

void RequestArrays::add(const Request& request, Array array, std::int64_t bytes, std::int64_t alignment) {
    const bool written = array == Array::x || array == Array::inverse_diagonal || array == Array::inverse_coupling ||
                         array == Array::tip_x || (request.operation == Operation::inverse && (array == Array::f || array == Array::c));
    const bool optional =
        array == Array::diagonal || array == Array::shift || array == Array::active || array == Array::lengths || array == Array::sizes;
    // Masked members of an output keep what they hold.
    const bool refines = request.operation == Operation::refine;
    const auto access = !written ? Access::read : refines || request[Array::active] != nullptr ? Access::update : Access::write;
    kinds_[count_] = array;
    list_[count_++] = {.name = to_string(array),
                       .data = request[array],
                       .bytes = bytes,
                       .alignment = static_cast<int>(alignment),
                       .access = access,
                       .optional = optional,
                       .may_equal = refines                 ? nullptr
                                    : array == Array::x     ? to_string(Array::b)
                                    : array == Array::tip_x ? to_string(Array::tip_b)
                                                            : nullptr};
}

void resolve(const Spec& spec, Request& request) {
    resolve_count(request.members, spec.batch, spec.batch, "members");
    resolve_count(request.columns, spec.rhs, std::int64_t{1} << 32, "columns");
    if (request.operation == Operation::load) {
        const auto first = request.first_block, rest = spec.horizon - first;
        if (first < 0 || rest < 1 || request.blocks < 0 || request.blocks > rest)
            throw SpecError(fmt::format("load of {} blocks from block {} on is out of range; the chain has {}, counted from 0",
                                        request.blocks, first, spec.horizon));
        if (request.blocks == 0) request.blocks = rest;
    }
    if (request.pivot_floor > 0 && spec.matrix != MatrixKind::positive_definite)
        throw SpecError(fmt::format("pivot_floor raises pivots of positive definite matrices, and this one is {}; add a diagonal instead",
                                    spec.matrix == MatrixKind::general ? "general" : "symmetric"));
    if (!(request.pivot_floor >= 0 && request.pivot_floor < 1))
        throw SpecError(fmt::format(
            "pivot_floor = {} is out of range; give 0 (none) or a fraction of the largest magnitude on the block's diagonal, below 1",
            request.pivot_floor));
    if (sweeps(request.operation))
        checked_multiply(rhs_extent(spec, request.members, request.columns), element_bytes(spec.precision), "size of B in bytes");
}

void check_lengths(const Spec& spec, const Request& request) {
    const auto* lengths = static_cast<const int*>(request[Array::lengths]);
    const auto* sizes = static_cast<const int*>(request[Array::sizes]);
    const auto* active = static_cast<const int*>(request[Array::active]);
    for (std::int64_t member = 0; member < request.members; ++member) {
        if (active != nullptr && active[member] == 0) continue;
        if (lengths != nullptr && (lengths[member] < 0 || lengths[member] > spec.horizon))
            throw SpecError(fmt::format("lengths[{}] is {}; give 0 to {}, the number of blocks that there is room for", member,
                                        lengths[member], spec.horizon));
        const auto blocks = lengths != nullptr ? lengths[member] : spec.horizon;
        for (std::int64_t block = 0; sizes != nullptr && block < blocks; ++block)
            if (const auto size = sizes[member * spec.horizon + block]; size < 0 || size > spec.block)
                throw SpecError(
                    fmt::format("sizes[{}][{}] is {}; give 0 to {}, the rows that a block has room for", member, block, size, spec.block));
    }
}

trifold_strides tip_strides(const Spec& spec, std::int64_t columns) {
    if (spec.rhs_layout == RhsLayout::stacked) return {1, spec.border, 0, spec.border * columns};
    return {columns, 1, 0, spec.border * columns};
}

trifold_args panel_args(const Spec& spec, const Request& request, std::int64_t first, std::int64_t columns, void* workspace) {
    const auto strides = rhs_strides(spec, request.columns);
    const auto offset = first * strides.column * element_bytes(spec.precision);
    const auto panel = [&](const void* array) { return array == nullptr ? nullptr : static_cast<const char*>(array) + offset; };
    trifold_args args{};
    args.d = request[Array::d];
    args.e = request[Array::e];
    args.b = panel(request[Array::b]);
    args.x = const_cast<char*>(panel(request[Array::x]));
    args.b_strides = args.x_strides = kernel_strides(strides);
    args.b_strides.stage = args.x_strides.stage = strides.stage * spec.bandwidth;
    args.columns = columns;
    args.members = request.members;
    args.diagonal = request[Array::diagonal];
    args.shift = request[Array::shift];
    args.active = static_cast<const int*>(request[Array::active]);
    args.pivot_floor = request.pivot_floor;
    args.accept_nearly_singular = request.accept_nearly_singular;
    args.inverse_diagonal = const_cast<void*>(request[factors(request.operation) ? Array::sizes : Array::inverse_diagonal]);
    const bool reads_a = factors(request.operation) || request.operation == Operation::refine;
    const auto upper = spec.matrix == MatrixKind::general ? Array::u : Array::lengths;
    args.inverse_coupling = const_cast<void*>(request[reads_a ? upper : Array::inverse_coupling]);
    args.workspace = workspace;
    args.first_column = first;
    if (request.operation == Operation::load) {
        // Kernels count from the first block of the chain, wherever it stands.
        const auto shifted = [&](const void*& array, std::int64_t stage) {
            array = static_cast<const char*>(array) - request.first_block * stage * element_bytes(spec.precision);
        };
        shifted(args.d, diagonal_strides(spec).stage);
        if (args.e != nullptr) shifted(args.e, coupling_strides(spec).stage);
        args.first_column = request.first_block;
        args.columns = request.blocks;
    }
    return args;
}

}  // namespace trifold
