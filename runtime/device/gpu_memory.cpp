#include "runtime/device/gpu_memory.hpp"

namespace trifold::gpu {

void clear_workspace(const Driver& driver, const Program& program, void* memory, bool whole, void* stream) {
    if (whole) driver.fill(memory, 0xff, static_cast<std::size_t>(program.workspace_bytes), stream);
    auto* bytes = static_cast<char*>(memory);
    std::int64_t first = 0, end = 0;  // neighbours that are zeroed in one go
    const auto zero = [&] {
        if (end > first) driver.fill(bytes + first, 0, static_cast<std::size_t>(end - first), stream);
    };
    for (const auto& buffer : program.buffers) {
        if (!buffer.contents.empty()) driver.copy_to_device(bytes + buffer.offset, buffer.contents.data(), buffer.contents.size(), stream);
        if (!buffer.zeroed || buffer.bytes == 0) continue;
        if (round_up(end, workspace_alignment) != buffer.offset) {
            zero();
            first = buffer.offset;
        }
        end = buffer.offset + buffer.bytes;
    }
    zero();
}

}  // namespace trifold::gpu
