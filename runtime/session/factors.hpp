#pragma once
// Implementation of FactorsOf, for the files of families that make it of their classes. A family gives batch_of(plan) and, where a Spec
// alone makes a plan, key_of(spec, device, tuning), which is different for different problems.
#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <list>
#include <mutex>
#include <string>
#include <trifold/error.hpp>
#include <trifold/factors_of.hpp>

#include "runtime/base/fork_safe_cache.hpp"
#include "runtime/session/session.hpp"

namespace trifold {

/// Solvers that one plan keeps on a GPU. Each has graphs that hold the address of its value, and giving them another costs a microsecond
/// for each of their kernels; on the CPU an address costs nothing.
inline constexpr std::size_t max_slots = 8;
inline constexpr std::size_t max_shared = 256;

/// Bytes between two addresses.
inline std::int64_t apart(const void* a, const void* b) {
    const auto first = reinterpret_cast<std::uintptr_t>(a), second = reinterpret_cast<std::uintptr_t>(b);
    return static_cast<std::int64_t>(first < second ? second - first : first - second);
}

template <class Plan, class Solver>
struct FactorsOf<Plan, Solver>::Slot {
    Solver solver;
    bool busy = false;
    std::uint64_t used = 0;  // by the clock of State
};

template <class Plan, class Solver>
struct FactorsOf<Plan, Solver>::State {
    struct Slots {
        std::mutex mutex;
        std::condition_variable freed;
        std::list<Slot> all;
        std::uint64_t clock = 0;
    };
    PerProcess<Slots> slots;
};

template <class Plan, class Solver>
FactorsOf<Plan, Solver>::FactorsOf(const Plan& plan) : state_(std::make_unique<State>()), plan_(plan) {}

template <class Plan, class Solver>
FactorsOf<Plan, Solver>::~FactorsOf() = default;

template <class Plan, class Solver>
const Plan& FactorsOf<Plan, Solver>::plan() const {
    return plan_;
}
template <class Plan, class Solver>
std::int64_t FactorsOf<Plan, Solver>::bytes() const {
    return Solver::workspace_bytes(plan_);
}

/// The Solver that had this value before; else one that waits, unless it is better to make another.
template <class Plan, class Solver>
typename FactorsOf<Plan, Solver>::Slot& FactorsOf<Plan, Solver>::take(void* value, Stream stream, std::int64_t members) {
    if (value == nullptr) throw SpecError(fmt::format("the factor is a null pointer; it must hold {} bytes", bytes()));
    if (const auto batch = batch_of(plan_); members < 0 || members > batch)
        throw SpecError(fmt::format("members = {} is out of range; give 1 to {}, or 0 for {}", members, batch, batch));
    auto& slots = *state_->slots;
    std::unique_lock lock(slots.mutex);
    const auto holds_value = [&](Slot& slot) { return slot.solver.impl().session.workspace() == value; };
    auto slot = std::ranges::find_if(slots.all, holds_value);
    while (slot != slots.all.end() && slot->busy) {
        slots.freed.wait(lock);
        slot = std::ranges::find_if(slots.all, holds_value);
    }
    if (slot == slots.all.end()) {
        for (auto other = slots.all.begin(); other != slots.all.end(); ++other)
            if (!other->busy && (slot == slots.all.end() || other->used < slot->used)) slot = other;
        const bool on_cpu = plan_.device().backend() == Backend::cpu;
        const bool enough = on_cpu || slots.all.size() >= max_slots;
        if (slot == slots.all.end() || (!enough && !slot->solver.impl().session.captures(stream))) {
            slots.all.push_back({Solver(std::make_unique<typename Solver::Impl>(plan_, value, bytes(), Holds::results))});
            slot = std::prev(slots.all.end());
        }
    }
    slot->solver.impl().adopt(value, stream, members);
    slot->busy = true;
    slot->used = ++slots.clock;
    return *slot;
}

template <class Plan, class Solver>
typename FactorsOf<Plan, Solver>::Borrowed FactorsOf<Plan, Solver>::fresh(void* value, Stream stream, bool masked) {
    Borrowed borrowed(*state_, take(value, stream, 0));
    borrowed->impl().session.clear(masked, stream);
    if constexpr (requires { borrowed->impl().write_contents(); }) borrowed->impl().write_contents();
    return borrowed;
}

template <class Plan, class Solver>
typename FactorsOf<Plan, Solver>::Borrowed FactorsOf<Plan, Solver>::filled(void* value, Stream stream, std::int64_t members) {
    return Borrowed(*state_, take(value, stream, members == 0 ? batch_of(plan_) : members));
}

template <class Plan, class Solver>
typename FactorsOf<Plan, Solver>::Borrowed FactorsOf<Plan, Solver>::copied(const void* value, void* copy, Stream stream,
                                                                           std::int64_t members) {
    if (value == nullptr) throw SpecError(fmt::format("the factor to be copied is a null pointer; it must hold {} bytes", bytes()));
    if (apart(value, copy) < bytes()) throw SpecError(fmt::format("the factor and its copy overlap; both have {} bytes", bytes()));
    auto borrowed = filled(copy, stream, members);
    borrowed->impl().session.copy_from(value, stream);
    return borrowed;
}

template <class Plan, class Solver>
void FactorsOf<Plan, Solver>::prepare(void* value) {
    const auto borrowed = filled(value);
    if constexpr (requires { borrowed->impl().write_contents(); }) borrowed->impl().write_contents();
    borrowed->impl().session.prepare();
}

template <class Plan, class Solver>
Solver& FactorsOf<Plan, Solver>::Borrowed::operator*() const {
    return slot_->solver;
}

template <class Plan, class Solver>
FactorsOf<Plan, Solver>::Borrowed::~Borrowed() {
    if (slot_ == nullptr) return;
    auto& slots = *state_.slots;
    {
        const std::scoped_lock lock(slots.mutex);
        slot_->busy = false;
    }
    slots.freed.notify_all();
}

template <class Plan, class Solver>
std::shared_ptr<FactorsOf<Plan, Solver>> FactorsOf<Plan, Solver>::shared(const Spec& spec, const Device& device, const Tuning& tuning)
    requires std::constructible_from<Plan, const Spec&, const Device&, const Tuning&>
{
    // Never destroyed: at exit there may be work in flight, and threads in a call.
    static auto& all = *new ForkSafeCache<std::string, FactorsOf>(max_shared);
    return all.get(key_of(spec, device, tuning), [&] { return std::make_shared<FactorsOf>(Plan(spec, device, tuning)); });
}

}  // namespace trifold
