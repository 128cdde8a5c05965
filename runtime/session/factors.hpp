#pragma once
// Implementation of FactorsOf, for the files of families that make it of their classes. A family gives key_of(spec, device, tuning), which
// is different for different problems, and batch_of(plan).
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
inline constexpr std::size_t most_seats = 8;
inline constexpr std::size_t most_shared = 256;

/// Bytes between two addresses.
inline std::int64_t apart(const void* a, const void* b) {
    const auto first = reinterpret_cast<std::uintptr_t>(a), second = reinterpret_cast<std::uintptr_t>(b);
    return static_cast<std::int64_t>(first < second ? second - first : first - second);
}

template <class Plan, class Solver>
struct FactorsOf<Plan, Solver>::Seat {
    Solver solver;
    bool busy = false;
    std::uint64_t used = 0;  // by the clock of State
};

template <class Plan, class Solver>
struct FactorsOf<Plan, Solver>::State {
    struct Seats {
        std::mutex mutex;
        std::condition_variable freed;
        std::list<Seat> all;
        std::uint64_t clock = 0;
    };
    PerProcess<Seats> seats;
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
typename FactorsOf<Plan, Solver>::Seat& FactorsOf<Plan, Solver>::take(void* value, Stream stream, std::int64_t members) {
    if (value == nullptr) throw SpecError(fmt::format("the factor is a null pointer; it must hold {} bytes", bytes()));
    if (const auto batch = batch_of(plan_); members < 0 || members > batch)
        throw SpecError(fmt::format("members = {} is out of range; give 1 to {}, or 0 for {}", members, batch, batch));
    auto& seats = *state_->seats;
    std::unique_lock lock(seats.mutex);
    const auto holds_value = [&](Seat& seat) { return seat.solver.impl().session.workspace() == value; };
    auto seat = std::ranges::find_if(seats.all, holds_value);
    while (seat != seats.all.end() && seat->busy) {
        seats.freed.wait(lock);
        seat = std::ranges::find_if(seats.all, holds_value);
    }
    if (seat == seats.all.end()) {
        for (auto other = seats.all.begin(); other != seats.all.end(); ++other)
            if (!other->busy && (seat == seats.all.end() || other->used < seat->used)) seat = other;
        const bool on_cpu = plan_.device().backend() == Backend::cpu;
        const bool enough = on_cpu || seats.all.size() >= most_seats;
        if (seat == seats.all.end() || (!enough && !seat->solver.impl().session.captures(stream))) {
            seats.all.push_back({Solver(std::make_unique<typename Solver::Impl>(plan_, value, bytes(), Holds::results))});
            seat = std::prev(seats.all.end());
        }
    }
    seat->solver.impl().adopt(value, stream, members);
    seat->busy = true;
    seat->used = ++seats.clock;
    return *seat;
}

template <class Plan, class Solver>
typename FactorsOf<Plan, Solver>::Borrowed FactorsOf<Plan, Solver>::fresh(void* value, Stream stream, bool masked) {
    Borrowed borrowed(*state_, take(value, stream, 0));
    borrowed->impl().session.clear(masked, stream);
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
    filled(value)->impl().session.prepare();
}

template <class Plan, class Solver>
Solver& FactorsOf<Plan, Solver>::Borrowed::operator*() const {
    return seat_->solver;
}

template <class Plan, class Solver>
FactorsOf<Plan, Solver>::Borrowed::~Borrowed() {
    if (seat_ == nullptr) return;
    auto& seats = *state_.seats;
    {
        const std::scoped_lock lock(seats.mutex);
        seat_->busy = false;
    }
    seats.freed.notify_all();
}

template <class Plan, class Solver>
std::shared_ptr<FactorsOf<Plan, Solver>> FactorsOf<Plan, Solver>::shared(const Spec& spec, const Device& device, const Tuning& tuning) {
    // Never destroyed: at exit there may be work in flight, and threads in a call.
    static auto& all = *new ForkSafeCache<std::string, FactorsOf>(most_shared);
    return all.get(key_of(spec, device, tuning), [&] { return std::make_shared<FactorsOf>(Plan(spec, device, tuning)); });
}

}  // namespace trifold
