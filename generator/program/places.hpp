#pragma once
#include <cstdint>
#include <string>
#include <trifold/precision.hpp>
#include <trifold/program.hpp>
#include <utility>
#include <vector>

namespace trifold {

/// Places of buffers in a workspace, one behind the other, each at the alignment of a workspace.
class Places {
  public:
    /// Adds a buffer of `elements` of `each` bytes, and returns its offset. Throws SpecError when the size leaves 63 bits.
    std::int64_t add(std::string name, std::int64_t elements, std::int64_t each, bool zeroed = false) {
        const auto offset = bytes_, size = checked_multiply(elements, each, name);
        bytes_ = round_up(checked_add(bytes_, checked_add(size, workspace_alignment, "workspace"), "workspace") - workspace_alignment,
                          workspace_alignment);
        buffers_.push_back({std::move(name), offset, size, zeroed, {}});
        return offset;
    }
    std::int64_t bytes() const { return bytes_; }
    std::vector<Buffer> take() { return std::move(buffers_); }

  private:
    std::vector<Buffer> buffers_;
    std::int64_t bytes_ = 0;
};

}  // namespace trifold
