#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <set>
#include <trifold/program.hpp>
#include <vector>

#include "runtime/base/forks.hpp"
#include "runtime/device/code.hpp"

namespace trifold {

/// A kernel's first parameter in one call (Launch::operands names which of the call's), and how many members are active.
struct Operand {
    const void* bytes;
    std::size_t size;
    std::int64_t members;
};

/// The units of a Program on a device. What was compiled before is there from the start, and what is wanted first. The others are compiled
/// in other threads; who needs one of them earlier waits for it. All functions may be called by many threads at once.
class Units {
  public:
    /// `first`: the units that are wanted first. Throws what obtain_all() throws, and DeviceError.
    Units(const Program& program, const Device& device, const std::set<std::size_t>& first);
    /// Units whose code is loaded already.
    Units(const Program& program, const Device& device, const std::vector<LoadedCode>& codes);
    std::size_t size() const { return items_.size(); }
    /// Whether the other functions need not wait.
    bool is_there(std::size_t unit) const { return items_[unit].made.load(std::memory_order_acquire) != nullptr; }
    /// The entry point of a kernel.
    void* function(std::size_t unit, std::size_t kernel) const { return made(unit).functions[kernel]; }
    const LoadedCode& code(std::size_t unit) const { return made(unit).loaded; }

  private:
    struct Made {
        LoadedCode loaded;
        std::vector<void*> functions;
    };
    struct Item {
        Item() = default;
        ~Item() { delete made.load(); }
        Item(const Item&) = delete;
        Item& operator=(const Item&) = delete;
        Unit unit;  // until it is made
        std::atomic<const Made*> made = nullptr;
        PerProcess<std::mutex> making;  // a child of a fork makes what its parent was making
    };
    const Made& made(std::size_t unit) const;
    static void make(Item& item, const Unit& unit, LoadedCode loaded);
    void compile(const std::set<std::size_t>& first);

    Device device_;
    mutable std::deque<Item> items_;  // which do not move
};

}  // namespace trifold
