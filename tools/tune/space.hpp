#pragma once
#include <functional>
#include <trifold/program.hpp>
#include <vector>

#include "tools/tune/trial.hpp"

namespace trifold::tune {

/// The values of one knob that a candidate does not have yet, each as the candidate that has it.
struct KnobValues {
    std::string knob;
    std::vector<Candidate> candidates;
};

/// The candidates of a search.
struct Space {
    Candidate standard;            ///< what is taken without wisdom of the user: by shipped wisdom, or by the model
    std::vector<Candidate> pairs;  ///< the others, the most promising first
    std::function<std::vector<KnobValues>(const Candidate&)> knobs;
};
/// For the device of a name that wisdom knows; an empty one is not known. With `all`, every schedule that is known is in it, not only one
/// of each kind. Candidates that generate the same kernels and launches as an earlier one are left out. Throws SpecError where nothing
/// takes the point.
Space space_of(const Point& point, const Target& target, std::string_view device, bool all = false);

/// Equal for two Programs that run the same code in the same way: names and comments do not count.
std::string fingerprint(const Program& program);

}  // namespace trifold::tune
