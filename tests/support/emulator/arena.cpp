#include "tests/support/emulator/arena.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "generator/tridiagonal/design.hpp"

namespace trifold::test {
namespace {

std::int64_t align(std::int64_t value) { return (value + workspace_alignment - 1) / workspace_alignment * workspace_alignment; }

/// Elements from the first to one past the last that a sweep touches.
std::int64_t extent(const Spec& spec, const trifold_strides& s, const trifold_args& args) {
    return (args.members - 1) * s.member + (spec.horizon - 1) * s.stage + (spec.block - 1) * s.row + (args.columns - 1) * s.column + 1;
}

}  // namespace

std::int64_t gap_of(const Choice& choice) {
    return align(4096 + 2 * design(choice).lowered.storage.factor * element_bytes(choice.spec.precision));
}

std::vector<Buffer> spread_buffers(const Choice& choice, const Program& program) {
    const auto gap = gap_of(choice);
    auto buffers = program.buffers;
    std::int64_t end = 0;
    for (const auto& item : buffers) end = std::max(end, align(item.offset + item.bytes));
    buffers.push_back({"scratch", end, program.workspace_bytes - end, false, {}});
    std::int64_t at = 0;
    for (auto& item : buffers) {
        item.offset = at += gap;
        at = align(at + item.bytes);
    }
    return buffers;
}

Arena::Arena(const Choice& choice, const Program& program, const std::vector<Buffer>& spread, const trifold_args& args, Detector& detector)
    : gap_(gap_of(choice)), args_(args) {
    const auto& spec = choice.spec;
    const auto real = element_bytes(spec.precision), members = static_cast<std::int64_t>(args.members);
    const auto blocks = spec.block * spec.block * members * real;
    add("D", args_.d, diagonal_extent(spec, members) * real, false);
    add("E", args_.e, coupling_extent(spec, members) * real, false);
    add("b", args_.b, extent(spec, args.b_strides, args) * real, false);
    add("x", args_.x, extent(spec, args.x_strides, args) * real, true);
    add("diagonal", args_.diagonal, members * spec.horizon * spec.block * real, false);
    add("shift", args_.shift, members * real, false);
    add("active", args_.active, members * static_cast<std::int64_t>(sizeof(int)), false);
    add("inverse_diagonal", args_.inverse_diagonal, blocks * spec.horizon, true);
    const bool is_upper = spec.matrix == MatrixKind::general;  // it is U then
    add("inverse_coupling", args_.inverse_coupling, is_upper ? coupling_extent(spec, members) * real : blocks * (spec.horizon - 1),
        !is_upper);
    auto* const original = static_cast<char*>(args.workspace);
    const auto& last = spread.back();
    auto* const workspace = room(last.offset + last.bytes);
    args_.workspace = workspace;
    for (std::size_t k = 0; k < spread.size(); ++k) {
        const bool scratch = k + 1 == spread.size();
        const auto offset = scratch ? program.workspace_bytes - spread[k].bytes : program.buffers[k].offset;
        copies_.push_back({spread[k].name, original + offset, spread[k].bytes, true, workspace + spread[k].offset});
    }
    for (const auto& copy : copies_) {
        if (copy.bytes > 0) std::memcpy(copy.place, copy.original, static_cast<std::size_t>(copy.bytes));
        detector.add_region(copy.name, copy.place, copy.bytes, copy.writable);
    }
}

/// Room for `bytes` bytes, aligned as device memory is, with a gap on either side.
char* Arena::room(std::int64_t bytes) {
    memory_.emplace_back(new char[static_cast<std::size_t>(bytes + 2 * gap_ + workspace_alignment)]);
    auto* const begin = memory_.back().get() + gap_;
    return begin + (-reinterpret_cast<std::uintptr_t>(begin) & (workspace_alignment - 1));
}

/// Arrays that are one to the caller stay one, and are aligned to 16 bytes only if they were.
template <class Pointer>
void Arena::add(const char* name, Pointer*& pointer, std::int64_t bytes, bool writable) {
    if (pointer == nullptr) return;
    auto* const original = const_cast<char*>(reinterpret_cast<const char*>(pointer));
    const auto same = std::ranges::find(copies_, original, &Copy::original);
    if (same != copies_.end()) {
        same->writable |= writable;
        same->bytes = std::max(same->bytes, bytes);
        pointer = reinterpret_cast<Pointer*>(same->place);
        return;
    }
    const auto unaligned = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(original) % 16);
    copies_.push_back({name, original, bytes, writable, room(bytes + unaligned) + unaligned});
    pointer = reinterpret_cast<Pointer*>(copies_.back().place);
}

void Arena::copy_back() const {
    for (const auto& copy : copies_)
        if (copy.writable && copy.bytes > 0) std::memcpy(copy.original, copy.place, static_cast<std::size_t>(copy.bytes));
}

}  // namespace trifold::test
