#include "generator/tridiagonal/ranks/fit.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <set>
#include <trifold/error.hpp>
#include <tuple>

#include "generator/tridiagonal/mixed.hpp"
#include "generator/tridiagonal/ranks/tree.hpp"
#include "generator/tridiagonal/variant.hpp"

namespace trifold {
namespace ranks {
namespace {

constexpr std::array own_names{
    "chains:1",   "chains:2", "chains:3", "chains:4", "chains:6", "chains:8", "flanked:8,4,2", "flanked:16,8,4,2", "flanked:32,16,8,4,2",
    "multi-stage"};

/// Seconds of one rank's own blocks. Levels whose blocks others eliminate take none.
double seconds_of(const RankSpec& spec, const Choice& agreed, std::string_view schedule) {
    Problem problem{kernel_spec(agreed.spec, agreed.variant), agreed.target, own_schedule(spec, schedule)};
    std::erase_if(problem.schedule.levels, [](const Level& level) { return level.runs.empty(); });
    problem.spec.horizon = problem.schedule.horizon;
    if (problem.schedule.levels.empty()) return 0;
    return variant_named(agreed.target, agreed.variant).seconds(problem, device_of(agreed.target));
}

/// Ranks of which none is like another.
std::vector<int> kinds_of(const RankSpec& spec) {
    std::set<std::tuple<std::int64_t, bool, bool>> seen;
    std::vector<int> result;
    for (int rank = 0; rank < spec.ranks(); ++rank)
        if (seen.emplace(spec.shards[static_cast<std::size_t>(rank)], rank > 0, rank + 1 < spec.ranks()).second) result.push_back(rank);
    return result;
}

}  // namespace

double own_seconds(const RankSpec& spec, const Choice& agreed, std::string_view schedule) {
    double most = 0;
    for (const auto rank : kinds_of(spec)) {
        auto other = spec;
        other.rank = rank;
        most = std::max(most, seconds_of(other, agreed, schedule));
    }
    return most;
}

std::string fastest_schedule(const RankSpec& spec, const Choice& agreed) {
    return *std::ranges::min_element(own_names, {}, [&](const char* name) { return own_seconds(spec, agreed, name); });
}

}  // namespace ranks

namespace {

/// Shards whose end ranks have `weight` times the blocks of the others, which can be halved often: their levels need that.
std::vector<std::int64_t> weighted_shards(std::int64_t horizon, int ranks, double weight) {
    if (ranks < 3) return even_shards(horizon, ranks);
    constexpr std::int64_t least_halves = 8;
    auto inner = std::max<std::int64_t>(std::llround(static_cast<double>(horizon) / (2 * weight + ranks - 2)), 1);
    const auto unit =
        static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(std::max<std::int64_t>(inner / least_halves, 1))));
    inner = std::max<std::int64_t>(inner / unit * unit, 1);
    const auto ends = horizon - inner * (ranks - 2);
    std::vector<std::int64_t> shards(static_cast<std::size_t>(ranks), inner);
    shards.front() = (ends + 1) / 2;
    shards.back() = ends / 2;
    return shards;
}

}  // namespace

std::vector<std::int64_t> fitting_shards(const Spec& spec, int ranks, const Target& target, const Tuning& tuning) {
    auto best = even_shards(spec.horizon, ranks);
    if (target.backend == Backend::cpu || ranks < 3) return best;
    double least = std::numeric_limits<double>::infinity();
    for (const auto weight : {1.0, 1.2, 1.5, 1.8, 2.2, 2.7}) {
        const RankSpec candidate{spec, weighted_shards(spec.horizon, ranks, weight), 0};
        if (candidate.shards.back() < 1) continue;
        const auto choice = choose(candidate, target, tuning);
        const auto seconds = ranks::own_seconds(candidate, choice, choice.tuning.schedule);
        if (seconds >= least) continue;
        least = seconds;
        best = candidate.shards;
    }
    return best;
}

}  // namespace trifold
