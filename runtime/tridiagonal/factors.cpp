#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <list>
#include <mutex>
#include <trifold/factors.hpp>

#include "runtime/tridiagonal/solver_impl.hpp"

namespace trifold {
namespace {

/// Solvers that one Plan keeps on a GPU. Each has graphs that hold the address of its value, and giving them another costs a microsecond
/// for each of their kernels; on the CPU an address costs nothing.
constexpr std::size_t most_seats = 8;
constexpr std::size_t most_shared = 256;

/// Counts the forks between this process and the first one. Of what other threads held at a fork, such as locks, a child has nobody to
/// let go.
std::atomic<int>& generation() {
    static std::atomic<int> count = 0;
    static const int registered = ::pthread_atfork(nullptr, nullptr, [] { ++generation(); });
    static_cast<void>(registered);
    return count;
}

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
    int born = generation();
    std::mutex mutex;
    std::condition_variable freed;
    std::list<Seat> seats;
    std::uint64_t clock = 0;
};

Factors::Factors(const Plan& plan) : state_(std::make_unique<State>()), plan_(plan) {}

Factors::~Factors() {
    if (state_->born != generation()) static_cast<void>(state_.release());  // its threads are not in this process
}

const Plan& Factors::plan() const { return plan_; }
std::int64_t Factors::bytes() const { return Solver::workspace_bytes(plan_); }

Factors::State& Factors::state() {
    if (state_->born != generation()) {
        static_cast<void>(state_.release());
        state_ = std::make_unique<State>();
    }
    return *state_;
}

/// The Solver that had this value before; else one that waits, unless it is better to make another.
Factors::Seat& Factors::take(void* value, Stream stream, std::int64_t members) {
    if (value == nullptr) throw SpecError(fmt::format("the factor is a null pointer; it must hold {} bytes", bytes()));
    if (const auto batch = plan_.choice().spec.batch; members < 0 || members > batch)
        throw SpecError(fmt::format("members = {} is out of range; give 1 to {}, or 0 for {}", members, batch, batch));
    auto& all = state();
    std::unique_lock lock(all.mutex);
    const auto holds_value = [&](Seat& seat) { return seat.solver.impl().session.workspace() == value; };
    auto seat = std::ranges::find_if(all.seats, holds_value);
    while (seat != all.seats.end() && seat->busy) {
        all.freed.wait(lock);
        seat = std::ranges::find_if(all.seats, holds_value);
    }
    if (seat == all.seats.end()) {
        for (auto other = all.seats.begin(); other != all.seats.end(); ++other)
            if (!other->busy && (seat == all.seats.end() || other->used < seat->used)) seat = other;
        const bool on_cpu = plan_.device().backend() == Backend::cpu;
        const bool enough = on_cpu || all.seats.size() >= most_seats;
        if (seat == all.seats.end() || (!enough && !seat->solver.impl().session.captures(stream))) {
            all.seats.push_back({Solver(std::make_unique<Solver::Impl>(plan_, value, bytes(), Holds::results))});
            seat = std::prev(all.seats.end());
        }
    }
    seat->solver.impl().adopt(value, stream, members);
    seat->busy = true;
    seat->used = ++all.clock;
    return *seat;
}

Factors::Borrowed Factors::fresh(void* value, Stream stream, bool masked) {
    Borrowed borrowed(state(), take(value, stream, 0));
    borrowed->impl().session.clear(masked, stream);
    return borrowed;
}

Factors::Borrowed Factors::filled(void* value, Stream stream, std::int64_t members) {
    return Borrowed(state(), take(value, stream, members == 0 ? plan_.choice().spec.batch : members));
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
    {
        const std::scoped_lock lock(state_.mutex);
        seat_->busy = false;
    }
    state_.freed.notify_all();
}

namespace {

std::string layout_key(const BlockLayout& layout) { return fmt::format("{}/{}/{}", layout.leading, layout.stage, layout.member); }

std::string key_of(const Spec& s, const Device& device, const Tuning& tuning) {
    return fmt::format("{} {} {} {} {} {} {} {} {} {} {} | {} {} | {} {} {} {}", s.block, s.horizon, to_string(s.precision), s.rhs, s.batch,
                       static_cast<int>(s.order), static_cast<int>(s.coupling), static_cast<int>(s.rhs_layout), layout_key(s.d),
                       layout_key(s.e), to_string(s.operations), to_string(device.target()), device.ordinal(), tuning.schedule,
                       tuning.variant, tuning.workers, tuning.spin_microseconds);
}

/// Those made so far, the most recently used ones first.
struct Shared {
    struct Entry {
        std::string key;
        std::mutex making;
        std::shared_ptr<Factors> factors;
    };
    int born = generation();
    std::mutex mutex;
    std::list<std::shared_ptr<Entry>> entries;

    std::shared_ptr<Entry> entry(const std::string& key) {
        const std::scoped_lock lock(mutex);
        const auto found = std::ranges::find(entries, key, [](const auto& entry) { return entry->key; });
        if (found == entries.end()) {
            entries.push_front(std::make_shared<Entry>());
            entries.front()->key = key;
        } else {
            entries.splice(entries.begin(), entries, found);
        }
        if (entries.size() > most_shared) entries.pop_back();
        return entries.front();
    }
};

/// Never destroyed: at exit there may be work in flight, and threads in a call.
Shared& everything_shared() {
    static std::atomic<Shared*> current = new Shared;
    auto* shared = current.load();
    if (shared->born == generation()) return *shared;
    auto* renewed = new Shared;
    return current.compare_exchange_strong(shared, renewed) ? *renewed : *current;
}

}  // namespace

std::shared_ptr<Factors> Factors::shared(const Spec& spec, const Device& device, const Tuning& tuning) {
    const auto entry = everything_shared().entry(key_of(spec, device, tuning));
    const std::scoped_lock lock(entry->making);  // others may make theirs at the same time
    if (!entry->factors) entry->factors = std::make_shared<Factors>(Plan(spec, device, tuning));
    return entry->factors;
}

}  // namespace trifold
