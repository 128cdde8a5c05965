#pragma once
#include <concepts>
#include <cstdint>
#include <memory>
#include <trifold/call.hpp>
#include <trifold/device.hpp>
#include <utility>

namespace [[gnu::visibility("default")]] trifold {

/// Solvers for callers to whom a factor is a value: an array of bytes that one operation writes and others read, as compilers of array
/// programs (torch.compile, XLA) want it. The value is the workspace of a Solver, in the caller's memory. It may be copied to another
/// address once it is complete, and any Solver of an equal Plan goes on from it.
///
/// A sweep uses parts of the value as scratch, so two calls on one value must not run at the same time: calls of several threads on the CPU
/// wait for one another, and on a GPU the caller's streams order them. What a factorization has left is not changed by sweeps, but
/// b' A^-1 b and what became of the last solution are those of the last sweep.
///
/// All functions may be called by many threads at once.
template <class Plan, class Solver>
class FactorsOf {
  public:
    using Spec = typename Plan::spec_type;
    using Tuning = typename Plan::tuning_type;
    explicit FactorsOf(const Plan& plan);
    /// One for each different problem in this process, made at the first call and kept while it is among the most recently used ones.
    static std::shared_ptr<FactorsOf> shared(const Spec& spec, const Device& device, const Tuning& tuning = {})
        requires std::constructible_from<Plan, const Spec&, const Device&, const Tuning&>;
    FactorsOf(const FactorsOf&) = delete;
    FactorsOf& operator=(const FactorsOf&) = delete;
    ~FactorsOf();

    const Plan& plan() const;
    /// Size of a value: device memory, aligned to workspace_base_alignment.
    std::int64_t bytes() const;

    class Borrowed;
    /// A Solver that is about to factor into `value`. Enqueues what fresh memory needs: the next call must be a factorization on that
    /// stream. `masked`: that call has an active mask, and members that it leaves out shall solve to NaN.
    Borrowed fresh(void* value, Stream stream = {}, bool masked = false);
    /// A Solver that goes on from a value into which `members` (0: the Spec's batch) have been factored. Throws SpecError on more than
    /// that.
    Borrowed filled(void* value, Stream stream = {}, std::int64_t members = 0);
    /// A Solver that goes on from a copy of `value` at another place, `copy`: enqueues that copy first. `value` need not be aligned, and
    /// must not overlap the copy.
    Borrowed copied(const void* value, void* copy, Stream stream = {}, std::int64_t members = 0);
    /// Makes a Solver ready for the first call, which is then as fast as others: on a GPU that takes milliseconds. Before a capture begins
    /// there must be one.
    void prepare(void* value);

    struct [[gnu::visibility("hidden")]] State;
    struct [[gnu::visibility("hidden")]] Slot;

  private:
    [[gnu::visibility("hidden")]] Slot& take(void* value, Stream stream, std::int64_t members);
    std::unique_ptr<State> state_;
    Plan plan_;
};

/// A Solver of a Factors over one value, for as long as this lives: take it for one call, or for a call and its results.
/// Its results are those of calls through this object; what the value itself holds (status, log determinant) is there from the start.
template <class Plan, class Solver>
class FactorsOf<Plan, Solver>::Borrowed {
  public:
    Borrowed(Borrowed&& other) noexcept : state_(other.state_), slot_(std::exchange(other.slot_, nullptr)) {}
    Borrowed& operator=(Borrowed&&) = delete;
    ~Borrowed();
    Solver& operator*() const;
    Solver* operator->() const { return &**this; }

  private:
    friend class FactorsOf;
    Borrowed(State& state, Slot& slot) : state_(state), slot_(&slot) {}
    State& state_;
    Slot* slot_;  // null: moved from
};

}  // namespace trifold
