#include "tools/bench/regret/candidates.hpp"

#include "tools/tune/space.hpp"

namespace trifold::regret {

std::vector<Candidate> candidates(const Spec& spec, const Target& target, int workers, std::size_t most) {
    std::vector<Candidate> result;
    for (const auto& [one, thirds] : tune::pairs(spec, target, workers, tune::usual_kinds()))
        if (result.size() < most) result.push_back({one.schedule, one.variant, result.empty(), one.modelled_seconds, thirds});
    return result;
}

}  // namespace trifold::regret
