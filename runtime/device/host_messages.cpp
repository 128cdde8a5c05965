#include <cstring>

#include "runtime/device/host_graph.hpp"

namespace trifold {
namespace {

/// Calls use(run of the workspace, place in the message, bytes) for all that the members of a call have; returns the bytes of all.
template <class Use>
std::int64_t each_run(const Message& message, char* workspace, std::int64_t members, const Use& use) {
    std::int64_t place = 0;
    for (const auto& piece : message.pieces)
        for (std::int64_t k = 0; k * piece.members < members; ++k, place += piece.bytes)
            use(workspace + piece.offset + k * piece.stride, place, static_cast<std::size_t>(piece.bytes));
    return place;
}

template <class Element>
void copy_member(const BlockCopy& copy, std::int64_t member) {
    const auto& [from_row, from_column, from_block, from_member] = copy.from_strides;
    const auto& [to_row, to_column, to_block, to_member] = copy.to_strides;
    const auto* source = static_cast<const Element*>(copy.from) + member * from_member;
    auto* target = static_cast<Element*>(copy.to) + member * to_member;
    for (std::int64_t block = 0; block < copy.blocks; ++block)
        for (std::int64_t row = 0; row < copy.rows; ++row)
            for (std::int64_t column = 0; column < copy.columns; ++column)
                target[block * to_block + row * to_row + column * to_column] =
                    source[block * from_block + row * from_row + column * from_column];
}

}  // namespace

void run_message(Work work, const Message& message, char* workspace, char* room, std::int64_t members, Transport& transport) {
    const bool stays = message.peer == transport.rank();
    if (work == Work::send) {
        const auto bytes = each_run(message, workspace, members,
                                    [&](const char* run, std::int64_t place, std::size_t count) { std::memcpy(room + place, run, count); });
        if (!stays) transport.send(message.peer, room, bytes);
        return;
    }
    const auto bytes = each_run(message, workspace, members, [](char*, std::int64_t, std::size_t) {});
    if (!stays) transport.receive(message.peer, room, bytes);
    each_run(message, workspace, members, [&](char* run, std::int64_t place, std::size_t count) { std::memcpy(run, room + place, count); });
}

void copy_members(const void* block_copy, const void*, long long first, long long last, void*) {
    const auto& copy = *static_cast<const BlockCopy*>(block_copy);
    for (auto member = first; member < last; ++member) {
        if (copy.active != nullptr && copy.active[member] == 0) continue;
        if (copy.element == static_cast<std::int64_t>(sizeof(float)))
            copy_member<float>(copy, member);
        else
            copy_member<double>(copy, member);
    }
}

}  // namespace trifold
