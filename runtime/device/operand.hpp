#pragma once
#include <cstddef>
#include <cstdint>

namespace trifold {

/// A kernel's first parameter in one call (Launch::operands names which of the call's), and how many members are active.
struct Operand {
    const void* bytes;
    std::size_t size;
    std::int64_t members;
};

}  // namespace trifold
