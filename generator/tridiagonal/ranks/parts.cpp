#include "generator/tridiagonal/ranks/parts.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace trifold::ranks {
namespace {

namespace tiles {
#include "templates/gpu/tridiagonal/tiles/shared.h"
}

/// Verdicts of blocks that are not eliminated here: kernels sum up those of a whole path.
void neutralize(Buffer& buffer, std::string_view name) {
    constexpr std::string_view zeroed[]{"floors", "block_log_determinant", "block_quadratic", "update", "rhs_update", "poison"};
    if (std::ranges::find(zeroed, name) != std::end(zeroed)) buffer.zeroed = true;
    if (name != "failure") return;
    const trifold_int sound = std::numeric_limits<trifold_int>::max();
    buffer.contents.resize(static_cast<std::size_t>(buffer.bytes));
    for (std::size_t k = 0; k < buffer.contents.size(); k += sizeof sound) std::memcpy(buffer.contents.data() + k, &sound, sizeof sound);
}

}  // namespace

Part::Part(Choice choice, std::string prefix, std::int64_t base)
    : design_(trifold::design(choice)),
      program_(write_down(design_, Packing::apart)),
      prefix_(std::move(prefix)),
      buffers_(design_.buffers),
      // Threads of a processor have their scratch behind all parts.
      end_(
          round_up(base + design_.workspace_bytes - (on_gpu() ? 0 : design_.lowered.scratch_bytes * design_.workers), workspace_alignment)),
      real_(element_bytes(design_.spec.precision)),
      group_(on_gpu() ? 1 : design_.lowered.shapes.at(Phase::factor).members_per_task),
      groups_(design_.lowered.members / group_) {
    for (auto& buffer : buffers_) {
        neutralize(buffer, buffer.name);
        buffer.name = prefix_ + buffer.name;
        buffer.offset += base;
    }
    const auto n = design_.spec.block, blocks = design_.spec.horizon;
    add("x", blocks, n * design_.spec.rhs);
    add("diagonal", blocks, n);
    if (has_inverse(design_)) add("inverse_diagonal", blocks, n * n);
}

void Part::add(std::string name, std::int64_t count, std::int64_t elements) {
    const auto block = checked_multiply(elements, real_, name), members = design_.lowered.members;
    buffers_.push_back({prefix_ + name, end_, checked_multiply(checked_multiply(count, members, name), block, name), false, {}});
    end_ = round_up(end_ + buffers_.back().bytes, workspace_alignment);
}

std::int64_t Part::offset(std::string_view name) const {
    return std::ranges::find(buffers_, prefix_ + std::string(name), &Buffer::name)->offset;
}

/// Arrays of the path, a member behind the other.
Piece Part::block_of(std::string_view name, std::int64_t elements, std::int64_t block) const {
    const auto bytes = elements * real_;
    return {offset(name) + block * bytes, bytes, design_.spec.horizon * bytes, 1};
}

Piece Part::solution(std::int64_t block) const { return block_of("x", design_.spec.block * design_.spec.rhs, block); }

/// The place of a separator among those that level 0 leaves.
std::int64_t Part::place(std::int64_t block) const {
    const auto& separators = design_.schedule.levels[1];
    return (block - separators.base) / separators.scale;
}

Piece Part::slot(std::string_view name, std::int64_t elements, int side, std::int64_t block) const {
    const auto bytes = elements * real_ * group_, separators = design_.schedule.levels[1].size;
    return {offset(name) + (side * groups_ * separators + place(block)) * bytes, bytes, separators * bytes, group_};
}

Piece Part::poison(int side, std::int64_t block) const {
    const auto bytes = static_cast<std::int64_t>(sizeof(int)), separators = design_.schedule.levels[1].size;
    return {offset("poison") + (side * design_.lowered.members * separators + place(block)) * bytes, bytes, separators * bytes, 1};
}

Piece Part::coupling(std::string_view name, std::int64_t index) const {
    const auto bytes = design_.lowered.storage.coupling * real_ * group_;
    return {offset(name) + index * bytes, bytes, design_.schedule.couplings() * bytes, group_};
}

/// The places for passed blocks and vectors, which shared.h lists: those of one interval stand together.
void Part::add_passed(std::vector<Piece>& pieces, const Ends& ends, bool factors, bool sweeps) const {
    const auto block = design_.lowered.storage.update * real_, vector = design_.lowered.storage.vector * real_;
    const auto block_piece = [&](std::int64_t k) {
        return Piece{offset("update") + (ends.side * tiles::passed_each + k) * block, block, tiles::passed_blocks * block, 1};
    };
    const auto vectors = offset("rhs_update") + 2 * design_.lowered.members * design_.spec.horizon * vector;
    const auto vector_piece = [&](std::int64_t k) {
        return Piece{vectors + (ends.side * tiles::vectors_each + k) * vector, vector, tiles::passed_vectors * vector, 1};
    };
    const bool left = ends.left != none, right = ends.right != none;
    if (factors && left) pieces.push_back(block_piece(tiles::for_lower));
    if (factors && right) pieces.push_back(block_piece(tiles::for_higher));
    if (factors && left && right) pieces.push_back(block_piece(tiles::for_both));
    if (sweeps && left) pieces.push_back(vector_piece(tiles::for_lower));
    if (sweeps && right) pieces.push_back(vector_piece(tiles::for_higher));
}

void Part::add_updates(std::vector<Piece>& pieces, const Ends& ends, bool factors, bool sweeps) const {
    if (on_gpu()) return add_passed(pieces, ends, factors, sweeps);
    const auto& storage = design_.lowered.storage;
    // Side 0 of a separator is written from below it, side 1 from above.
    for (const auto& [block, side] : {std::pair{ends.left, 1}, std::pair{ends.right, 0}}) {
        if (block == none) continue;
        if (factors) pieces.push_back(slot("update", storage.update, side, block));
        if (factors) pieces.push_back(poison(side, block));
        if (sweeps) pieces.push_back(slot("rhs_update", storage.vector, side, block));
    }
    if (factors && ends.left != none && ends.right != none) pieces.push_back(coupling("coupling", ends.coupling));
}

void Part::add_solution(std::vector<Piece>& pieces, const Ends& ends) const {
    for (const auto block : {ends.left, ends.right})
        if (block != none) pieces.push_back(solution(block));
}

void Part::add_inverse(std::vector<Piece>& pieces, const Ends& ends) const {
    const auto n = design_.spec.block;
    for (const auto block : {ends.left, ends.right})
        if (block != none) pieces.push_back(block_of("inverse_diagonal", n * n, block));
    if (ends.left != none && ends.right != none) pieces.push_back(coupling("inverse_coupling", ends.coupling));
}

}  // namespace trifold::ranks
