#include "tools/bench/regret/candidates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <trifold/cost.hpp>
#include <trifold/error.hpp>

#include "generator/tridiagonal/variant.hpp"

namespace trifold::regret {
namespace {

/// Times slower than the best, by the model; a variant's fastest candidate may be slower by the second.
constexpr double far_slower = 6, hopeless = 30;

using Kind = std::vector<std::string>;

/// Schedules by kind. Of each kind a variant has one candidate.
const std::vector<Kind>& kinds() {
    static const std::vector<Kind> all{{"sequential"},  {"twisted:2"},    {"twisted:4", "partitioned:4", "partitioned:8", "partitioned:16"},
                                       {"multi-stage"}, {"single-stage"}, {"recursive:2", "recursive:4", "recursive:8"}};
    return all;
}

/// Nothing where the variant refuses.
std::optional<Candidate> candidate_of(const Spec& spec, const Target& target, const Tuning& tuning) {
    try {
        const auto choice = choose(spec, target, tuning);
        return Candidate{choice.schedule.name, choice.variant, false, modelled_seconds(choice),
                         cost(choice.schedule, spec, tuning.workers).total.thirds()};
    } catch (const SpecError&) {
        return std::nullopt;
    }
}

/// What a variant could take, the fastest by the model first. Of a horizon's schedules that are the same one, the first counts.
std::vector<Candidate> candidates_of(std::string_view variant, const Spec& spec, const Target& target, int workers) {
    std::vector<Candidate> result;
    std::vector<std::vector<Level>> seen;
    for (const auto& kind : kinds()) {
        std::optional<Candidate> best;
        for (const auto& name : kind) {
            const auto schedule = parse_schedule(name, spec.horizon);
            if (std::ranges::find(seen, schedule.levels) != seen.end()) continue;
            seen.push_back(schedule.levels);
            const auto one = candidate_of(spec, target, {name, std::string(variant), workers});
            if (one && (!best || one->modelled_seconds < best->modelled_seconds)) best = one;
        }
        if (best) result.push_back(*best);
    }
    std::ranges::stable_sort(result, {}, &Candidate::modelled_seconds);
    return result;
}

bool is_same(const Candidate& a, const Candidate& b) { return a.schedule == b.schedule && a.variant == b.variant; }

/// One of each list, the fastest first, then the next of each.
std::vector<Candidate> in_turn(std::vector<std::vector<Candidate>> lists) {
    std::erase_if(lists, [](const auto& list) { return list.empty(); });
    std::ranges::stable_sort(lists, {}, [](const auto& list) { return list.front().modelled_seconds; });
    std::vector<Candidate> result;
    for (std::size_t place = 0, taken = 1; taken > 0; ++place) {
        taken = 0;
        for (const auto& list : lists)
            if (place < list.size()) {
                ++taken;
                result.push_back(list[place]);
            }
    }
    return result;
}

void prune(std::vector<Candidate>& all) {
    if (all.empty()) return;
    const auto least = std::ranges::min_element(all, {}, &Candidate::modelled_seconds)->modelled_seconds;
    const auto before = all;
    std::set<std::string> seen;
    std::erase_if(all, [&](const Candidate& one) {
        const bool is_first = seen.insert(one.variant).second;
        return one.modelled_seconds > (is_first ? hopeless : far_slower) * least &&
               std::ranges::any_of(before, [&](const Candidate& other) {
                   return other.modelled_seconds < one.modelled_seconds && other.thirds <= one.thirds;
               });
    });
}

}  // namespace

std::vector<Candidate> candidates(const Spec& spec, const Target& target, int workers, std::size_t most) {
    std::vector<std::vector<Candidate>> lists;
    for (const auto* variant : variants_of(target.backend)) lists.push_back(candidates_of(variant->name, spec, target, workers));
    auto others = in_turn(std::move(lists));
    prune(others);
    auto chosen = candidate_of(spec, target, {"auto", "auto", workers});
    if (!chosen) return {};
    chosen->is_auto = true;
    std::vector<Candidate> result{*chosen};
    for (const auto& one : others)
        if (!is_same(one, *chosen) && result.size() < most) result.push_back(one);
    return result;
}

}  // namespace trifold::regret
