#pragma once
#include <cstdint>
#include <trifold/program.hpp>
#include <trifold/transport.hpp>

namespace trifold {

/// Runs a send or a receive of a Program: pieces of its workspace, gathered in `room`.
void run_message(Work work, const Message& message, char* workspace, char* room, std::int64_t members, Transport& transport);

/// The entry of a copy: its tasks are members.
void copy_members(const void* block_copy, const void* constants, long long first, long long last, void* scratch);

}  // namespace trifold
