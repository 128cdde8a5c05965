#pragma once
#include <functional>
#include <optional>

#include "tools/tune/log.hpp"

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

enum class Effort { quick, full, exhaustive };
std::string_view to_string(Effort effort);
/// Throws SpecError.
Effort parse_effort(std::string_view text);

/// How candidates are measured together.
struct Round {
    std::string name;       ///< of Trial::round
    int runs = 5;           ///< of each operation, at least
    bool by_turns = false;  ///< all candidates one after another, again and again, in alternating order; and what every operation of the
                            ///< Spec gives is compared with what the first candidate computes
    bool cached = false;    ///< the same arrays again and again, which stay in the caches where they fit. Nothing of it is recorded
};

/// Trials of these candidates, in their order. By turns those that failed before are left out.
using Measure = std::function<std::vector<Trial>(const std::vector<Candidate>&, const Round&)>;
/// The worth of a variant's knob in earlier searches: the larger, the earlier it is tried.
using Promise = std::function<double(const std::string& variant, const std::string& knob)>;

/// The search itself: halves of pairs, then knobs, then the best by turns with the default. Nothing where no candidate is sound. The caller
/// fills in machine, generator, point.
std::optional<Decision> search(const Space& space, Effort effort, const Promise& promise, const Measure& measure);

/// The verdict of a last round: its trials are the default, the others, and the default again. A winner is faster than the default by 2 %,
/// or by more than the two runs of the default differ, whichever is larger. `cached` are trials like these with data that stay in the
/// caches: who is slower than the default there by as much cannot win. Nothing where no trial is sound.
std::optional<Decision> decide(const std::vector<Trial>& trials, const std::vector<Trial>& cached = {});

/// Two sound candidates of a point that differ in one knob alone, which the first leaves to its row.
struct KnobPair {
    const Trial* plain;
    std::string point, knob;  ///< the former as key_of writes it
    std::int64_t value;
    double ratio;  ///< seconds with that value over seconds without; of each the least, for disturbances only slow a trial down
};
/// The trials must outlive them.
std::vector<KnobPair> knob_pairs(const std::vector<Trial>& trials);
/// By the mean logarithm of how many times faster a knob's values were; 0 where nothing is known. It is of all such pairs.
Promise promise_of(const std::vector<Trial>& trials);

}  // namespace trifold::tune
