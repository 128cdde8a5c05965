#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace trifold::test {

/// An array between two guard zones of known bytes. Kernels are compiled without the address sanitizer, so it does not see what they write.
template <class T>
class Guarded {
  public:
    explicit Guarded(std::int64_t size) : size_(static_cast<std::size_t>(size)), memory_(size_ * sizeof(T) + 2 * zone + alignment, mark) {
        const auto address = reinterpret_cast<std::uintptr_t>(memory_.data()) + zone;
        start_ = zone + (alignment - address % alignment) % alignment;
    }
    explicit Guarded(const std::vector<T>& values) : Guarded(static_cast<std::int64_t>(values.size())) {
        std::ranges::copy(values, data());
    }
    T* data() { return reinterpret_cast<T*>(memory_.data() + start_); }
    std::span<T> values() { return {data(), size_}; }
    /// The array's place among `all` bytes, zones included.
    std::size_t first() const { return start_; }
    std::span<unsigned char> all() { return memory_; }
    std::int64_t size() const { return static_cast<std::int64_t>(size_); }
    bool intact() const {
        const auto is_marked = [](unsigned char byte) { return byte == mark; };
        const auto begin = memory_.begin() + static_cast<std::ptrdiff_t>(start_);
        return std::all_of(memory_.begin(), begin, is_marked) &&
               std::all_of(begin + static_cast<std::ptrdiff_t>(size_ * sizeof(T)), memory_.end(), is_marked);
    }

  private:
    static constexpr std::size_t zone = 4096, alignment = 64;
    static constexpr unsigned char mark = 0xa5;
    std::size_t size_, start_ = 0;
    std::vector<unsigned char> memory_;
};

}  // namespace trifold::test
