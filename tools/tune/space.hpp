#pragma once
#include <functional>
#include <vector>

#include "tools/tune/trial.hpp"

namespace trifold::tune {

/// A schedule with a variant that takes it.
struct Pair {
    Candidate candidate;
    std::int64_t thirds = 0;  ///< flops of one system, in thirds of n^3
};

/// Names of schedules that differ in one number. Of each kind a variant has one candidate, the fastest by the model.
using Kind = std::vector<std::string>;

/// The chooser's choice first, then what a measurement should compare it with: of every variant and every kind of schedule the one of least
/// modelled time, the variants in turn. What the model takes for six times slower than the best (a variant's fastest: for thirty times) is
/// left out, but only where another pair is both faster by the model and has no more flops: so some stay that the model may be wrong about.
/// Empty where the chooser finds nothing.
std::vector<Pair> pairs(const Spec& spec, const Target& target, int workers, const std::vector<Kind>& kinds);
/// Common schedules, a few of each kind.
const std::vector<Kind>& usual_kinds();

/// The values of one knob that a candidate does not have yet, each as the candidate that has it.
struct KnobValues {
    std::string knob;
    std::vector<Candidate> candidates;
};

/// Where a search looks.
struct Space {
    Candidate standard;            ///< what is taken without wisdom of the user: by shipped wisdom, or by the model
    std::vector<Candidate> pairs;  ///< the others, the most promising first
    std::function<std::vector<KnobValues>(const Candidate&)> knobs;
};
/// For the device of a name that wisdom knows; an empty one is not known. With `all`, every schedule that is known is in it, not only one
/// of each kind. Candidates that generate the same kernels and launches as an earlier one are left out. Throws SpecError where nothing
/// takes the point.
Space space_of(const Point& point, const Target& target, std::string_view device, bool all = false);

/// What the chooser makes of a candidate. Throws SpecError where the generator refuses it.
Choice choice_of(const Point& point, const Target& target, const Candidate& candidate);

/// Equal for two Programs that run the same code in the same way: names and comments do not count.
std::string fingerprint(const Program& program);

}  // namespace trifold::tune
