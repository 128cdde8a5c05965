#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "generator/program/device.hpp"
#include "generator/program/knob.hpp"
#include "generator/tridiagonal/design.hpp"
#include "generator/tridiagonal/emit.hpp"
#include "generator/tridiagonal/memory.hpp"

namespace trifold {

/// Systems in f32 or f64 with their order of elimination, about which a variant is asked.
struct Problem {
    Spec spec;
    Target target;
    Schedule schedule;
    std::int64_t workers = 1;
    Knobs knobs = {};
};
Problem problem_of(const Design& design);

/// Abilities of a variant whatever the sizes. Refusals and the phases of operations follow from them.
struct Abilities {
    bool any_schedule = true;        ///< else multi-stage alone
    bool rings = false;              ///< it takes a ring
    bool lengths = false;            ///< it takes members with lengths of their own
    bool views = false;              ///< it takes blocks of rows of their own, and bands: parts of blocks, which it takes for whole ones
    bool definite = true;            ///< it takes positive definite matrices
    bool signs = false;              ///< it takes symmetric matrices, whose pivots have both signs
    bool general = false;            ///< it takes general matrices
    bool clips = true;               ///< its kernels leave blocks beyond a length out; otherwise they take them for the identity
    bool ring_inverse = true;        ///< it has a kernel for the selected inverse of a ring, where it takes one
    bool inverse = true;             ///< it has a kernel for the selected inverse
    bool loads = false;              ///< it can overwrite D and E
    bool rides = true;               ///< a kernel factors with the forward sweep; otherwise one follows the other
    bool finishes = true;            ///< kernels of their own gather the verdict on a member; otherwise its kernels do
    std::int64_t largest_block = 0;  ///< 0: any
    std::int64_t max_columns = 0;    ///< right-hand sides of a panel, at most; 0: the Spec's rhs
    bool shares_columns = false;     ///< workers share several panels
};

/// One way to write the kernels: a file of generator/tridiagonal/cpu or gpu, whose functions these are.
struct Variant {
    std::string_view name;
    std::string_view folder = name;  ///< folder of its templates, where entry.c or entry.cuh has the kernels
    Abilities abilities;
    /// Why it cannot take what its abilities allow, such as for want of shared memory; empty: it can.
    std::string (*refuses)(const Problem&) = [](const Problem&) { return std::string(); };
    /// Modelled seconds of the whole batch, with the numbers of a device: on GPUs of modelled_operation, on CPUs of a factorization.
    double (*seconds)(const Problem&, const KnownDevice&);
    /// Quantities that rows of generator/devices may ask for in addition to quantities_of.
    Quantities (*quantities)(const Problem&) = [](const Problem&) { return Quantities(); };
    Lowered (*lower)(const Problem&);
    /// The workspace, its own buffers among those that all have.
    MemoryPlan (*memory)(const Design&) = plain_memory;
    /// An operation as launches.
    std::vector<Step> (*steps)(const Design&, Operation) = plain_steps;
    /// Constants of its templates in addition to constants_of.
    std::vector<Constant> (*constants)(const Design&);
    /// Numbers that a caller may pin and a tuner tries. Each is named as the list of rows that it is taken from.
    std::span<const Knob> knobs;
    /// Options of the compiler in addition to those that all units of the backend have.
    std::span<const char* const> options = {};
    /// Schedules of its own. Where a row takes it for some of them, `auto` compares these alone.
    std::vector<Schedule> (*schedules)(const Problem&) = nullptr;
};

/// Whether the sizes of a problem are literals of its texts, which then serve no other problem. All variants have this knob.
inline constexpr Knob bake{"bake", "whether sizes are literals of the texts, which then serve this problem alone", {0, 1}};

/// In the order that messages list them.
std::span<const Variant* const> variants_of(Backend backend);
/// The variant of a name, which may have pinned knobs. Throws SpecError when there is none, or when it has no such knobs or values.
const Variant& variant_named(const Target& target, std::string_view name);
const Variant& variant_of(const Design& design);

/// The operation whose time is modelled: factor_solve; factor where the Spec has nothing that solves, and on CPUs.
Operation modelled_operation(const Problem& problem);

/// Why a variant cannot take a problem: by its abilities, or by what it says itself. Empty: it can.
std::string refusal(const Variant& variant, const Problem& problem);

/// block, horizon, batch, rhs, fronts (horizon times batch), bytes (of an element), schedule ("chain" or "levels"), inverse (it is asked
/// for).
Quantities quantities_of(const Problem& problem);
Quantities operator+(Quantities all, const Quantities& more);

/// A knob: what the caller has pinned, or the number of the first row that holds.
std::int64_t take(const Problem& problem, std::string_view knob, const Quantities& of);
/// Whether its texts have sizes as literals.
bool is_baked(const Problem& problem, const Variant& variant);

/// Phases of each operation of the Spec. They depend on the variant's abilities. `rides`: the forward sweep may ride with the
/// factorization.
std::map<Operation, std::vector<Phase>> usual_phases(const Spec& spec, const Abilities& abilities, bool rides = true);

namespace cpu {
extern const Variant getrf_variant, intervals_variant, lanes_variant, tile_variant;
}
namespace gpu {
extern const Variant chains_variant, dataflow_variant, fused_variant, getrf_fused_variant, getrf_lanes_variant, getrf_variant, team_variant,
    tiled_variant, tiles_variant;
}

}  // namespace trifold
