#include <nanobind/ndarray.h>
#include <sys/mman.h>

#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "runtime/python/binding/parts.hpp"

namespace nb = nanobind;

namespace trifold::python {
namespace {

struct Block {
    void* memory;
    std::size_t bytes;
};

constexpr std::size_t max_kept = 8, max_bytes_kept = std::size_t{1} << 30;
constexpr std::size_t huge_page = std::size_t{2} << 20;

/// Blocks that wait for their next use, those freed last at the end. All under the lock of Python.
std::vector<Block>& kept() {
    static auto& blocks = *new std::vector<Block>;
    return blocks;
}

void* take(std::size_t bytes) {
    auto& blocks = kept();
    for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
        if (block->bytes != bytes) continue;
        auto* const memory = block->memory;
        blocks.erase(std::next(block).base());
        return memory;
    }
    const bool large = bytes >= 2 * huge_page;
    void* memory = nullptr;
    if (posix_memalign(&memory, large ? huge_page : 256, bytes) != 0) throw std::bad_alloc();
    if (large) madvise(memory, bytes, MADV_HUGEPAGE);  // advice: nothing depends on it
    return memory;
}

void give(void* pointer) noexcept {
    auto* const block = static_cast<Block*>(pointer);
    auto& blocks = kept();
    std::size_t bytes = block->bytes;
    for (const auto& other : blocks) bytes += other.bytes;
    while (!blocks.empty() && (blocks.size() >= max_kept || bytes > max_bytes_kept)) {
        bytes -= blocks.front().bytes;
        std::free(blocks.front().memory);
        blocks.erase(blocks.begin());
    }
    if (bytes > max_bytes_kept)
        std::free(block->memory);
    else
        blocks.push_back(*block);
    delete block;
}

}  // namespace

nb::object allocate_bytes(std::int64_t bytes) {
    const auto size = static_cast<std::size_t>(bytes);
    auto block = std::make_unique<Block>(Block{take(size), size});
    auto* const memory = block->memory;
    const nb::capsule owner(block.release(), give);
    return nb::cast(nb::ndarray<nb::numpy, std::uint8_t>(memory, {size}, owner));
}

}  // namespace trifold::python
