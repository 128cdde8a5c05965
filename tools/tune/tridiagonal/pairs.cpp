#include <algorithm>
#include <optional>
#include <set>
#include <trifold/cost.hpp>
#include <trifold/error.hpp>
#include <trifold/generate.hpp>

#include "generator/tridiagonal/fields.hpp"
#include "generator/tridiagonal/variant.hpp"
#include "tools/tune/family.hpp"

namespace trifold::tune::tridiagonal {
namespace {

/// Times slower than the best, by the model; a variant's fastest pair may be slower by the second.
constexpr double far_slower = 6, hopeless = 30;

/// A schedule with a variant that takes it.
struct Pair {
    Candidate candidate;
    std::int64_t thirds = 0;  ///< flops of one system, in thirds of n^3
};

double seconds_of(const Pair& pair) { return pair.candidate.modelled_seconds; }

/// Names of schedules that differ in one number. Of each kind a variant has one candidate, the fastest by the model.
using Kind = std::vector<std::string>;

std::vector<Kind> kinds_of(bool all) {
    const std::vector<Kind> usual{{"auto"},
                                  {"sequential"},
                                  {"twisted:2"},
                                  {"twisted:4", "partitioned:4", "partitioned:8", "partitioned:16"},
                                  {"multi-stage"},
                                  {"single-stage"},
                                  {"recursive:2", "recursive:4", "recursive:8"}};
    if (!all) return usual;
    std::vector<Kind> result;
    for (const auto& kind : usual)
        for (const auto& name : kind) result.push_back({name});
    return result;
}

/// Nothing where the variant refuses.
std::optional<Pair> pair_of(const Spec& spec, const Target& target, const Tuning& tuning) try {
    const auto choice = choose(spec, target, tuning);
    return Pair{{choice.schedule.name, choice.variant, modelled_seconds(choice)},
                cost(choice.schedule, spec, tuning.workers).total.thirds()};
} catch (const SpecError&) {
    return std::nullopt;
}

/// The pairs that a variant could take, the fastest by the model first. Of a horizon's schedules that are the same one, the first counts.
std::vector<Pair> pairs_of(std::string_view variant, const Spec& spec, const Target& target, int workers, const std::vector<Kind>& kinds) {
    std::vector<Pair> result;
    std::vector<std::vector<Level>> seen;
    for (const auto& kind : kinds) {
        std::optional<Pair> best;
        for (const auto& name : kind) {
            const auto one = pair_of(spec, target, {name, std::string(variant), workers});
            if (!one) continue;
            const auto schedule = parse_schedule(one->candidate.schedule, solved_blocks(spec), spec.ring);
            if (std::ranges::find(seen, schedule.levels) != seen.end()) continue;
            seen.push_back(schedule.levels);
            if (!best || seconds_of(*one) < seconds_of(*best)) best = one;
        }
        if (best) result.push_back(*best);
    }
    std::ranges::stable_sort(result, {}, seconds_of);
    return result;
}

/// One of each list, the fastest first, then the next of each.
std::vector<Pair> alternating(std::vector<std::vector<Pair>> lists) {
    std::erase_if(lists, [](const auto& list) { return list.empty(); });
    std::ranges::stable_sort(lists, {}, [](const auto& list) { return seconds_of(list.front()); });
    std::vector<Pair> result;
    std::size_t longest = 0;
    for (const auto& list : lists) longest = std::max(longest, list.size());
    for (std::size_t place = 0; place < longest; ++place)
        for (const auto& list : lists)
            if (place < list.size()) result.push_back(list[place]);
    return result;
}

/// Leaves out what the model takes for far slower than the best, but only where another pair is both faster by the model and has no more
/// flops: so some stay that the model may be wrong about.
void prune(std::vector<Pair>& all) {
    if (all.empty()) return;
    const auto least = seconds_of(*std::ranges::min_element(all, {}, seconds_of));
    const auto before = all;
    std::set<std::string> seen;
    std::erase_if(all, [&](const Pair& one) {
        const bool is_first = seen.insert(one.candidate.variant).second;
        return seconds_of(one) > (is_first ? hopeless : far_slower) * least && std::ranges::any_of(before, [&](const Pair& other) {
                   return seconds_of(other) < seconds_of(one) && other.thirds <= one.thirds;
               });
    });
}

}  // namespace

/// The chooser's choice, then pairs to compare it with: of every variant and every kind of schedule the one of least modelled time, the
/// variants by turns; with `all` every schedule is its own kind. Empty where the chooser finds nothing.
std::vector<Candidate> pairs(const Point& point, const Target& target, bool all) {
    const auto spec = parse_spec_json(point.spec);
    std::vector<std::vector<Pair>> lists;
    for (const auto* variant : variants_of(target.backend)) {
        auto own = kinds_of(all);
        if (variant->schedules != nullptr) own.push_back({"auto"});
        lists.push_back(pairs_of(variant->name, spec, target, point.workers, own));
    }
    auto others = alternating(std::move(lists));
    prune(others);
    const auto chosen = pair_of(spec, target, {"auto", "auto", point.workers});
    if (!chosen) return {};
    std::vector<Candidate> result{chosen->candidate};
    for (const auto& one : others)
        if (!(one.candidate == chosen->candidate)) result.push_back(one.candidate);
    return result;
}

}  // namespace trifold::tune::tridiagonal
