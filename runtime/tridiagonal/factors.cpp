#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <list>
#include <mutex>
#include <trifold/factors.hpp>

#include "runtime/base/fork_safe_cache.hpp"
#include "runtime/tridiagonal/solver_impl.hpp"

namespace trifold {
namespace {

/// Solvers that one Plan keeps on a GPU. Each has graphs that hold the address of its value, and giving them another costs a microsecond
/// for each of their kernels; on the CPU an address costs nothing.
constexpr std::size_t most_seats = 8;
constexpr std::size_t most_shared = 256;

/// Bytes between two addresses.
std::int64_t apart(const void* a, const void* b) {
    const auto first = reinterpret_cast<std::uintptr_t>(a), second = reinterpret_cast<std::uintptr_t>(b);
    return static_cast<std::int64_t>(first < second ? second - first : first - second);
}

}  // namespace

struct Factors::Seat {
    Solver solver;
    bool busy = false;
    std::uint64_t used = 0;  // by the clock of State
};

struct Factors::State {
    struct Seats {
        std::mutex mutex;
        std::condition_variable freed;
        std::list<Seat> all;
        std::uint64_t clock = 0;
    };
    PerProcess<Seats> seats;
};

Factors::Factors(const Plan& plan) : state_(std::make_unique<State>()), plan_(plan) {}

Factors::~Factors() = default;

const Plan& Factors::plan() const { return plan_; }
std::int64_t Factors::bytes() const { return Solver::workspace_bytes(plan_); }

/// The Solver that had this value before; else one that waits, unless it is better to make another.
Factors::Seat& Factors::take(void* value, Stream stream, std::int64_t members) {
    if (value == nullptr) throw SpecError(fmt::format("the factor is a null pointer; it must hold {} bytes", bytes()));
    if (const auto batch = plan_.choice().spec.batch; members < 0 || members > batch)
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
            seats.all.push_back({Solver(std::make_unique<Solver::Impl>(plan_, value, bytes(), Holds::results))});
            seat = std::prev(seats.all.end());
        }
    }
    seat->solver.impl().adopt(value, stream, members);
    seat->busy = true;
    seat->used = ++seats.clock;
    return *seat;
}

Factors::Borrowed Factors::fresh(void* value, Stream stream, bool masked) {
    Borrowed borrowed(*state_, take(value, stream, 0));
    borrowed->impl().session.clear(masked, stream);
    return borrowed;
}

Factors::Borrowed Factors::filled(void* value, Stream stream, std::int64_t members) {
    return Borrowed(*state_, take(value, stream, members == 0 ? plan_.choice().spec.batch : members));
}

Factors::Borrowed Factors::copied(const void* value, void* copy, Stream stream, std::int64_t members) {
    if (value == nullptr) throw SpecError(fmt::format("the factor to be copied is a null pointer; it must hold {} bytes", bytes()));
    if (apart(value, copy) < bytes()) throw SpecError(fmt::format("the factor and its copy overlap; both have {} bytes", bytes()));
    auto borrowed = filled(copy, stream, members);
    borrowed->impl().session.copy_from(value, stream);
    return borrowed;
}

void Factors::prepare(void* value) { static_cast<void>(filled(value)); }

Solver& Factors::Borrowed::operator*() const { return seat_->solver; }

Factors::Borrowed::~Borrowed() {
    if (seat_ == nullptr) return;
    auto& seats = *state_.seats;
    {
        const std::scoped_lock lock(seats.mutex);
        seat_->busy = false;
    }
    seats.freed.notify_all();
}

namespace {

std::string layout_key(const BlockLayout& layout) { return fmt::format("{}/{}/{}", layout.leading, layout.stage, layout.member); }

std::string key_of(const Spec& s, const Device& device, const Tuning& tuning) {
    return fmt::format("{} {} {} {} {} {} {} {} {} {} {} | {} {} | {} {} {} {}", s.block, s.horizon, to_string(s.precision), s.rhs, s.batch,
                       static_cast<int>(s.order), static_cast<int>(s.coupling), static_cast<int>(s.rhs_layout), layout_key(s.d),
                       layout_key(s.e), to_string(s.operations), to_string(device.target()), device.ordinal(), tuning.schedule,
                       tuning.variant, tuning.workers, tuning.spin_microseconds);
}

/// Never destroyed: at exit there may be work in flight, and threads in a call.
ForkSafeCache<std::string, Factors>& everything_shared() {
    static auto& all = *new ForkSafeCache<std::string, Factors>(most_shared);
    return all;
}

}  // namespace

std::shared_ptr<Factors> Factors::shared(const Spec& spec, const Device& device, const Tuning& tuning) {
    return everything_shared().get(key_of(spec, device, tuning), [&] { return std::make_shared<Factors>(Plan(spec, device, tuning)); });
}

}  // namespace trifold
