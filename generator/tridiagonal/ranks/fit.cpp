#include <fmt/format.h>

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

constexpr std::array own_names{"chains:1",
                               "chains:2",
                               "chains:3",
                               "chains:4",
                               "chains:6",
                               "chains:8",
                               "flanked:8,4,2",
                               "flanked:16,8,4,2",
                               "flanked:32,16,8,4,2",
                               "flanked:64,32,16,8,4,2",
                               "flanked:128",
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

/// Levels of the tree, each with a message up, a front and a message down.
double joint_seconds(const RankSpec& spec, const Choice& agreed) {
    const auto turns = std::bit_width(static_cast<unsigned>(spec.ranks() - 1));
    if (turns == 0) return 0;
    const auto& device = device_of(agreed.target);
    const auto number = [&](const char* name) { return device.number(std::string("models.ranks.") + name); };
    const auto block = static_cast<double>(spec.spec.batch * element_bytes(spec.spec.precision) * spec.spec.block * spec.spec.block);
    constexpr double blocks_of_a_message = 3;
    Problem front{kernel_spec(agreed.spec, agreed.variant), agreed.target, sequential(1)};
    front.spec.horizon = 1;
    const auto joins = variant_named(agreed.target, agreed.variant).seconds(front, device);
    const auto messages = 2 * number("message_seconds") + blocks_of_a_message * block / number("message_bytes_per_second");
    return turns * (joins + messages);
}

std::string fastest_schedule(const RankSpec& spec, const Choice& agreed) {
    return *std::ranges::min_element(own_names, {}, [&](const char* name) { return own_seconds(spec, agreed, name); });
}

}  // namespace ranks

double modelled_seconds(const RankSpec& spec, const Choice& agreed) {
    return ranks::own_seconds(spec, agreed, agreed.tuning.schedule) + ranks::joint_seconds(spec, agreed);
}

std::string slower_than_fewer(const RankSpec& spec, const Choice& agreed) {
    if (agreed.target.backend == Backend::cpu || spec.ranks() == 1) return {};
    const auto seconds = modelled_seconds(spec, agreed);
    auto best = seconds;
    int fewer = spec.ranks();
    for (int ranks = 1; ranks < spec.ranks(); ranks *= 2) {
        double other = 0;
        if (ranks == 1) {
            other = modelled_seconds(choose(spec.spec, agreed.target));
        } else {
            const RankSpec candidate{spec.spec, fitting_shards(spec.spec, ranks, agreed.target), 0};
            other = modelled_seconds(candidate, choose(candidate, agreed.target));
        }
        if (other < best) best = other, fewer = ranks;
    }
    if (fewer == spec.ranks()) return {};
    constexpr double per_second = 1e6;
    return fmt::format("{} blocks of {} are modelled to take {:.0f} us on {} GPUs, and {:.0f} us on {}; give fewer ranks",
                       spec.spec.horizon, spec.spec.block, seconds * per_second, spec.ranks(), best * per_second, fewer);
}

namespace {

/// Shards whose end ranks have `weight` times the blocks of the others, which can be halved often: their levels need that.
std::vector<std::int64_t> weighted_shards(std::int64_t horizon, int ranks, double weight) {
    if (ranks <= 2) return even_shards(horizon, ranks);
    constexpr std::int64_t min_halves = 8;
    auto inner = std::max<std::int64_t>(std::llround(static_cast<double>(horizon) / (2 * weight + ranks - 2)), 1);
    const auto unit = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(std::max<std::int64_t>(inner / min_halves, 1))));
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
    if (target.backend == Backend::cpu || ranks <= 2) return best;
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
