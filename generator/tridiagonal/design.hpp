#pragma once
#include <trifold/tridiagonal_args.h>

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <trifold/generate.hpp>
#include <vector>

#include "generator/program/knob.hpp"
#include "generator/program/words.hpp"
#include "generator/tridiagonal/operands.hpp"

namespace trifold {

/// The work of one kernel on every chain of a level, or on every member where it finishes an operation. A variant may part the levels: then
/// factor_wide factors the first ones, and `factor` the others. The selected inverse of large blocks has four kernels in place of one: two
/// for what needs no other front, and two that treat the last front that is left of each chain. `adopt` makes E the coupling of a level
/// whose chains are empty. Where members have lengths of their own, `lengths` checks them, and the `blank` ones set results beyond them.
/// `load` copies D and E to where a factorization overwrites them.
TRIFOLD_NAMED_ENUM(Phase, phase_names, factor, factor_forward, forward, backward, inverse, finish_factor, finish_forward, factor_wide,
                   invert_factor, invert_panels, inverse_coupling, inverse_diagonal, adopt, lengths, blank, blank_inverse,
                   forward_transposed, backward_transposed, load);
inline constexpr auto phases = [] {
    std::array<Phase, phase_names.size()> all{};
    for (std::size_t k = 0; k < all.size(); ++k) all[k] = static_cast<Phase>(k);
    return all;
}();
constexpr std::string_view to_string(Phase phase) { return phase_names.at(static_cast<std::size_t>(phase)); }

/// Whether pivots have both signs.
inline bool has_signs(const Spec& spec) { return spec.matrix == MatrixKind::symmetric; }
/// Whether A is not symmetric.
inline bool is_general(const Spec& spec) { return spec.matrix == MatrixKind::general; }
/// Whether the signs of pivots are counted and the growth of the factor is watched.
inline bool has_inertia(const Spec& spec) { return spec.matrix != MatrixKind::positive_definite; }

/// Whether factorizations overwrite D and E, which have been loaded.
inline bool loads_ahead(const Spec& spec) { return spec.operations.contains(Operation::load); }

/// Whether its kernel treats members as a whole, and not chains.
constexpr bool treats_members(Phase phase) {
    return phase == Phase::finish_factor || phase == Phase::finish_forward || phase == Phase::lengths || phase == Phase::blank ||
           phase == Phase::blank_inverse;
}

/// How the work of a launch is cut into tasks (CPU) or thread blocks (GPU).
struct Shape {
    std::int64_t chains_per_task = 1;
    std::int64_t members_per_task = 1;
    int threads = 1;                    ///< threads of one thread block (GPU)
    std::int64_t shared_bytes = 0;      ///< dynamic shared memory of one thread block (GPU)
    bool all_levels = false;            ///< one launch covers every level: a thread block a front, which waits for those it needs
    std::int64_t groups = 0;            ///< with all_levels: thread blocks that share the work, whatever the number of fronts
    std::int64_t groups_per_chain = 1;  ///< tasks or thread blocks that share a chain (or with all_levels a front)
};

/// Elements a backend stores for one block, in its own internal layout (padding included).
struct Storage {
    std::int64_t factor;    ///< L
    std::int64_t panel;     ///< one of R (to the next block) and G (to the separator behind)
    std::int64_t update;    ///< Schur update of a separator's diagonal block
    std::int64_t coupling;  ///< coupling of two separators
    std::int64_t vector;    ///< right-hand-side update of a separator
};

/// A problem as a variant will solve it, before any code is written.
struct Lowered {
    std::map<Phase, Shape> shapes;
    Storage storage;
    std::int64_t scratch_bytes = 0;                       ///< per worker (CPU)
    std::int64_t members = 1;                             ///< batch capacity, rounded up to what the kernels process at once
    std::map<Operation, std::vector<Phase>> phases = {};  ///< phases of each operation of the Spec, in order
};

/// The kernel of a phase.
struct PhaseKernel {
    std::string name;
    Phase phase;
    Shape shape;
};

/// One kernel over one level, or over all of them (Shape::all_levels: chains are then the fronts, or the groups).
struct Step {
    std::size_t kernel;   ///< index in Design::kernels
    trifold_level level;  ///< for the kernels that finish all zero, chains 1
    Operands operands;
    std::vector<std::size_t> after;
    bool early = false;
    std::string levels;                   ///< for people: "level 3"
    trifold_start start = trifold_after;  ///< when a kernel over all levels, or one that finishes, may begin
};

/// A solver thought through, but not written down: all that the texts of its units and its launches follow from. In f32 or f64; mixed
/// precision wraps one in f32.
struct Design {
    Spec spec;    ///< the kernels solve this: the caller's, in f32 where that is mixed, with the right-hand sides of one call of theirs
    Spec caller;  ///< the Program's
    Target target;
    int workers = 1;
    Schedule schedule;
    std::string variant;  ///< with its pinned knobs
    Knobs knobs;
    std::string id;      ///< the Program's
    bool baked = false;  ///< sizes are literals of the texts
    std::string label;   ///< end of all kernels' names: n32_f64_sm90_1a2b3c4d
    Lowered lowered;
    std::vector<PhaseKernel> kernels;  ///< one for each Phase that the operations need, in the order of `phases`
    std::vector<Buffer> buffers;
    std::int64_t workspace_bytes = 0;
    std::map<Operation, std::vector<Step>> operations;
};

/// The choice with sizes as literals of its texts, which need no other arguments than those that they document.
Choice with_literal_sizes(Choice choice);
bool is_wrapped(const Design& design);
/// Whether a Solver corrects solutions by their residuals.
bool refines(const Design& design);
/// The Spec's operations, those that treat the columns beyond the first `at_once` of an operation that factors, and in place of refine
/// solve.
Operations planned_operations(const Spec& spec, std::int64_t at_once);
/// Works out a choice; of a mixed one, what factors and sweeps the copies in f32. Throws SpecError.
Design design(const Choice& choice);
/// The knobs that its variant asked for, each with all values where it asked more than once, such as for different kernels.
std::vector<KnobDecision> knobs_of(const Choice& choice);
/// Writes a design as units, buffers and operations.
Program write_down(const Design& design, Packing packing);

bool has_kernel(const Design& design, Phase phase);
/// Whether it has the selected inverse, in whatever kernels.
bool has_inverse(const Design& design);
/// Tasks (CPU) or thread blocks (GPU) of a launch, for each group of members.
std::int64_t groups_of(const Design& design, const Step& step);
/// Throws SpecError when there is no such buffer.
const Buffer& buffer(const Design& design, std::string_view name);
/// The level as kernels see it.
trifold_level kernel_level(const Schedule& schedule, std::size_t index);
/// Whether its kernel takes a trifold_all_levels, and not a trifold_level.
bool takes_all_levels(const Design& design, const Step& step);
/// The constants of a launch, as its kernel takes them.
trifold_constants constants_of(const Design& design, const Step& step);

/// Checks what kernels of every variant assume of their launches. Throws std::logic_error where a step breaks an assumption, for example if
/// no task has some chain. The variants' files check what their own kernels assume of sizes.
void require_sound(const Design& design, const Step& step);

/// An operation as launches, each after the one before it: up the levels, or down them, a launch a level, or one launch where the kernel
/// has Shape::all_levels. No launch waits for kernels that finish.
std::vector<Step> plain_steps(const Design& design, Operation operation);

/// The inputs that a Program follows from: the Spec, the target and the tuning.
nlohmann::json identity_json(const Choice& choice);
/// The first 8 hex digits of its SHA-256.
std::string identity(const Choice& choice);
/// Description that a Program carries: its identity and the levels of the schedule.
nlohmann::json about_json(const Choice& choice);

}  // namespace trifold
