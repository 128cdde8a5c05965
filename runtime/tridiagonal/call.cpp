#include "runtime/tridiagonal/call.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <trifold/error.hpp>

namespace trifold {
namespace {

void resolve_count(std::int64_t& value, std::int64_t standard, std::int64_t largest, std::string_view what) {
    if (value < 0 || value > largest)
        throw SpecError(fmt::format("{} = {} is out of range; give 1 to {}, or 0 for {}", what, value, largest, standard));
    if (value == 0) value = standard;
}

void check_pointer(const Call& call, const ArrayUse& use) {
    const auto address = reinterpret_cast<std::uintptr_t>(call[use.array]);
    if (address == 0 && use.bytes > 0 && !use.optional)
        throw SpecError(fmt::format("{} is a null pointer; it must hold {} bytes", to_string(use.array), use.bytes));
    if (address % static_cast<std::uintptr_t>(use.alignment) != 0)
        throw SpecError(fmt::format("{} is not aligned to its elements of {} bytes", to_string(use.array), use.alignment));
}

bool overlap(const void* a, std::int64_t a_bytes, const void* b, std::int64_t b_bytes) {
    const auto first = reinterpret_cast<std::uintptr_t>(a), second = reinterpret_cast<std::uintptr_t>(b);
    if (first == 0 || second == 0 || a_bytes == 0 || b_bytes == 0) return false;
    return first < second ? second - first < static_cast<std::uintptr_t>(a_bytes) : first - second < static_cast<std::uintptr_t>(b_bytes);
}

void check_output(const Call& call, const ArrayUse& out, const ArrayUses& uses) {
    for (const auto& other : uses) {
        const bool in_place = out.array == Array::x && other.array == Array::b && call[out.array] == call[other.array];
        if (&out == &other || in_place || !overlap(call[out.array], out.bytes, call[other.array], other.bytes)) continue;
        throw SpecError(fmt::format("{} ({} bytes) overlaps {} ({} bytes); only X may be B itself", to_string(out.array), out.bytes,
                                    to_string(other.array), other.bytes));
    }
}

trifold_strides kernel_strides(const Strides& s) { return {s.row, s.column, s.stage, s.member}; }

}  // namespace

std::string_view to_string(Array array) {
    constexpr std::array<std::string_view, array_count> names{
        "D", "E", "B", "X", "the added diagonal", "shift", "active", "the inverse's diagonal", "the inverse's coupling"};
    return names.at(static_cast<std::size_t>(array));
}

ArrayUses::ArrayUses(const Spec& spec, const Call& call) {
    const auto real = element_bytes(spec.precision);
    const auto add = [&](Array array, std::int64_t elements, bool written = false, bool optional = false) {
        uses_[count_++] = {array, elements * real, static_cast<int>(real), written, optional};
    };
    const auto members = call.members, n = spec.block;
    if (factors(call.operation)) {
        add(Array::d, diagonal_extent(spec, members));
        add(Array::e, coupling_extent(spec, members));
        add(Array::diagonal, members * spec.horizon * n, false, true);
        add(Array::shift, members, false, true);
    }
    if (sweeps(call.operation)) {
        add(Array::b, rhs_extent(spec, members, call.columns));
        add(Array::x, rhs_extent(spec, members, call.columns), true);
    }
    if (call.operation == Operation::inverse) {
        add(Array::inverse_diagonal, members * spec.horizon * n * n, true);
        add(Array::inverse_coupling, members * (spec.horizon - 1) * n * n, true);
    }
    uses_[count_++] = {Array::active, members * static_cast<std::int64_t>(sizeof(int)), alignof(int), false, true};
}

void resolve(const Spec& spec, Call& call) {
    resolve_count(call.members, spec.batch, spec.batch, "members");
    resolve_count(call.columns, spec.rhs, std::int64_t{1} << 32, "columns");
    if (!(call.pivot_floor >= 0 && call.pivot_floor < 1))
        throw SpecError(fmt::format(
            "pivot_floor = {} is out of range; give 0 (none) or a fraction of the largest magnitude on the block's diagonal, below 1",
            call.pivot_floor));
    if (sweeps(call.operation))
        checked_multiply(rhs_extent(spec, call.members, call.columns), element_bytes(spec.precision), "size of B in bytes");
}

void check_arrays(const Spec& spec, std::int64_t workspace_bytes, const Call& call, const void* workspace) {
    const ArrayUses uses(spec, call);
    for (const auto& use : uses) {
        check_pointer(call, use);
        if (use.written) check_output(call, use, uses);
        if (overlap(call[use.array], use.bytes, workspace, workspace_bytes))
            throw SpecError(
                fmt::format("{} ({} bytes) overlaps the workspace ({} bytes)", to_string(use.array), use.bytes, workspace_bytes));
    }
}

trifold_args panel_args(const Spec& spec, const Call& call, std::int64_t first, std::int64_t columns, void* workspace) {
    const auto strides = rhs_strides(spec, call.columns);
    const auto offset = first * strides.column * element_bytes(spec.precision);
    const auto panel = [&](const void* array) { return array == nullptr ? nullptr : static_cast<const char*>(array) + offset; };
    trifold_args args{};
    args.d = call[Array::d];
    args.e = call[Array::e];
    args.b = panel(call[Array::b]);
    args.x = const_cast<char*>(panel(call[Array::x]));
    args.b_strides = args.x_strides = kernel_strides(strides);
    args.columns = columns;
    args.members = call.members;
    args.diagonal = call[Array::diagonal];
    args.shift = call[Array::shift];
    args.active = static_cast<const int*>(call[Array::active]);
    args.pivot_floor = call.pivot_floor;
    args.accept_nearly_singular = call.accept_nearly_singular;
    args.inverse_diagonal = const_cast<void*>(call[Array::inverse_diagonal]);
    args.inverse_coupling = const_cast<void*>(call[Array::inverse_coupling]);
    args.workspace = workspace;
    args.first_column = first;
    return args;
}

}  // namespace trifold
