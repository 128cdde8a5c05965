#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <trifold/generate.hpp>
#include <vector>

#include "generator/program/ladder.hpp"

namespace trifold {

/// The key of a problem in wisdom. Of `spec.operations` it has only whether anything solves, and whether the selected inverse is asked for.
/// Throws SpecError where the Spec is wrong.
ProblemKey key_of(const Spec& spec, const Target& target, int workers);
/// The Spec of a key. Throws SpecError where its texts are none of block tridiagonal problems, or not as key_of writes them.
Spec spec_of(const ProblemKey& key);
/// Why no kernels can be made as a row says, such as an unknown knob; empty: they can.
std::string problem_of(const WisdomRow& row);

/// How schedule and variant came about, and what to give to `choose`.
struct Resolved {
    Tuning tuning;  ///< with what the row says, where a row was taken
    DecisionSource rung = DecisionSource::model;
    std::string row;                   ///< see WisdomAnswer
    std::vector<std::string> ignored;  ///< see WisdomAnswer
};

/// A problem whose schedule and variant are open, as wisdom is told of it. Throws SpecError where the Spec or the target is wrong.
std::unique_ptr<const WisdomProblem> wisdom_problem(const Spec& spec, const Target& target, const Tuning& tuning);
/// Whether the caller leaves both schedule and variant open. If not, no wisdom is asked.
bool is_open(const Tuning& tuning);

/// The ladder: what the caller pinned, then what look_up finds, then the model. Throws SpecError where the Spec or the target is wrong.
Resolved resolve(const Spec& spec, const Target& target, const Tuning& tuning, std::string_view device,
                 std::span<const Wisdom* const> files);

/// Chooses as choose(spec, target, tuning) does, with what `resolve` found. The Program is that of the pinned schedule and variant.
Choice choose(const Spec& spec, const Target& target, const Resolved& resolved);
/// Chooses so with the row that was found.
Choice choose_with(const WisdomAnswer& answer, const Spec& spec, const Target& target, const Tuning& tuning);

}  // namespace trifold
