#pragma once
#include <functional>
#include <optional>

#include "tools/tune/space.hpp"

namespace trifold::tune {

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
    bool operator==(const Round&) const = default;
};

/// Trials of these candidates, in their order. By turns those that failed before are left out.
using Measure = std::function<std::vector<Trial>(const std::vector<Candidate>&, const Round&)>;

/// How much is tried.
struct Strategy {
    std::string name;
    std::size_t max_pairs = 0;    ///< without the default
    std::size_t max_trials = 0;   ///< candidates, the default among them
    std::size_t tuned_pairs = 0;  ///< of these the knobs are varied; of the default in any case where there are no other pairs
    bool two_knobs = false;       ///< all values of two knobs at once
    /// The worth of a variant's knob in earlier searches: the larger, the earlier it is tried. Empty: by the model.
    std::function<double(const std::string& variant, const std::string& knob)> promise = {};
};
Strategy strategy_of(Effort effort);

/// The search itself: halves of pairs, then knobs, then the best by turns with the default. Nothing where no candidate is sound. The caller
/// fills in machine, generator, point.
std::optional<Decision> search(const Space& space, const Strategy& strategy, const Measure& measure);

/// The verdict of a last round: its trials are the default, the others, and the default again. A winner is faster than the default by 2 %,
/// or by more than the two runs of the default differ, whichever is larger. `cached` are trials like these with data that stay in the
/// caches: who is slower than the default there by as much cannot win. Nothing where no trial is sound.
std::optional<Decision> decide(const std::vector<Trial>& trials, const std::vector<Trial>& cached = {});

/// The worth of knobs in earlier trials: of the points where a candidate with one pinned knob and the one without it were measured, the
/// mean logarithm of how many times faster it was; 0 where nothing is known.
std::function<double(const std::string& variant, const std::string& knob)> promise_of(const std::vector<Trial>& trials);

}  // namespace trifold::tune
