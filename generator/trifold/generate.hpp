#pragma once
#include <string>
#include <trifold/program.hpp>
#include <trifold/schedule.hpp>
#include <trifold/spec.hpp>
#include <trifold/target.hpp>

/// Block tridiagonal systems: from a Spec to a Program.
namespace [[gnu::visibility("default")]] trifold {

/// Choices that change speed but not the problem. Part of the Program's identity: pinned tuning pins the bits.
struct Tuning {
    std::string schedule = "auto";  ///< see parse_schedule
    std::string variant = "auto";   ///< variant of the kernels; each backend lists its own
    int workers = 1;                ///< CPU threads a call may use, at most max_workers
    /// Time that the CPU's idle threads stay awake after a call, in microseconds: no choice of code, and of no bit. A call that finds them
    /// asleep waits 50 to 100 us longer or does their work itself; while they are awake they keep their cores busy. 0 is for loops that
    /// leave the processor to others between calls. standard_spin: TRIFOLD_SPIN, or 1000.
    int spin_microseconds = standard_spin;
    static constexpr int standard_spin = -1;
    /// One compilation for every horizon, batch and class of right-hand sides, also where kernels with sizes as literals are a few percent
    /// faster: for programs whose sizes change.
    bool any_size = false;
    bool operator==(const Tuning&) const = default;
};

/// A Spec with everything that was left open decided: the order of elimination and the kernels.
struct Choice {
    Spec spec;
    Target target;
    Tuning tuning;  ///< as given
    Schedule schedule;
    std::string variant;
    std::string reason;  ///< why this schedule and this variant: who pinned them, or which row or model chose
    DecisionSource rung = DecisionSource::model;
    std::string row;  ///< the row of wisdom that decided, with its file; empty: none did
};

/// Decides what the tuning leaves to `auto`. The target must be resolved. Throws SpecError.
Choice choose(const Spec& spec, const Target& target, const Tuning& tuning = {});
/// Spec and Tuning of a Plan that solves for `columns` right-hand sides at a time, from factors of the given one (Solver::take_factor): the
/// Spec with another rhs, and the Tuning with schedule and variant pinned. The Spec is the choice's own where more at a time take no less
/// time each: for a few, and in mixed precision.
struct Widened {
    Spec spec;
    Tuning tuning;
};
Widened widened(const Choice& choice, std::int64_t columns);
/// Modelled seconds of modelled_operation for the Spec's whole batch, by the schedule and variant that were taken.
double modelled_seconds(const Choice& choice);
/// factor_solve; factor on CPUs, and where the Spec has no operation that solves.
Operation modelled_operation(const Choice& choice);

/// Packing of kernels into units. apart: each kernel that takes long to compile has a unit of its own, so that all compile at the same
/// time. together: one unit, for those who want one file.
enum class Packing { apart, together };

/// The whole generator. Pure: same input, same bytes. Throws SpecError.
Program generate(const Choice& choice, Packing packing = Packing::apart);
Program generate(const Spec& spec, const Target& target, const Tuning& tuning = {}, Packing packing = Packing::apart);

}  // namespace trifold
