#include "runtime/device/units.hpp"

#include <optional>
#include <utility>

#include "runtime/base/switches.hpp"
#include "runtime/compile/async.hpp"
#include "runtime/compile/compiler.hpp"
#include "runtime/device/gpu.hpp"

namespace trifold {

Units::Units(const Program& program, const Device& device, const std::set<std::size_t>& first)
    : device_(device), items_(program.units.size()) {
    const auto ptx = gpu::needs_ptx(device) ? std::optional(as_ptx(program)) : std::nullopt;
    const auto& taken = ptx ? *ptx : program;
    const auto& units = taken.units;
    if (!remembers()) {
        const auto binaries = obtain_all(taken);
        for (std::size_t k = 0; k < size(); ++k) make(items_[k], units[k], load(binaries[k], device_));
        return;
    }
    for (std::size_t k = 0; k < size(); ++k) {
        if (auto loaded = load_cached(units[k], device_))
            make(items_[k], units[k], std::move(*loaded));
        else
            items_[k].unit = units[k];
    }
    compile(first);
}

Units::Units(const Program& program, const Device& device, const std::vector<LoadedCode>& codes)
    : device_(device), items_(program.units.size()) {
    for (std::size_t k = 0; k < size(); ++k) make(items_[k], program.units[k], codes.at(k));
}

void Units::compile(const std::set<std::size_t>& first) {
    const bool may_compile = !disabled("jit");
    std::vector<Unit> in_order, others;
    std::vector<std::size_t> awaited;
    for (std::size_t k = 0; k < size(); ++k) {
        if (is_there(k)) continue;
        const bool is_first = first.contains(k) || !may_compile;  // then what is missing is told at once
        (is_first ? in_order : others).push_back(items_[k].unit);
        if (is_first) awaited.push_back(k);
    }
    in_order.insert(in_order.end(), std::make_move_iterator(others.begin()), std::make_move_iterator(others.end()));
    if (may_compile && (in_order.size() > 1 || awaited.empty())) obtain_beside(std::move(in_order));
    for (const auto k : awaited) made(k);
}

const Units::Made& Units::made(std::size_t unit) const {
    auto& item = items_[unit];
    if (!is_there(unit)) {
        const std::scoped_lock lock(*item.making);
        if (!is_there(unit)) {
            auto loaded = load(item.unit, device_);
            loaded.cache_hit = false;  // it was compiled since the plan was asked for, here or by another thread
            make(item, item.unit, std::move(loaded));
        }
    }
    return *item.made.load(std::memory_order_acquire);
}

void Units::make(Item& item, const Unit& unit, LoadedCode loaded) {
    auto made = std::make_unique<Made>(Made{std::move(loaded), {}});
    for (const auto& kernel : unit.kernels) made->functions.push_back(made->loaded.code->function(kernel));
    item.made.store(made.release(), std::memory_order_release);
    static_cast<void>(std::exchange(item.unit, {}));  // assignment alone would keep its memory
}

}  // namespace trifold
