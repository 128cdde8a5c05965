#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <trifold/cost.hpp>
#include <trifold/error.hpp>

#include "generator/tridiagonal/mixed.hpp"
#include "generator/tridiagonal/variant.hpp"

namespace trifold {
namespace {

/// A variant, and what chose it: a row, or the caller.
struct Picked {
    const Variant* variant = nullptr;
    const Row* row = nullptr;
};

/// A schedule with its variant. Rows and models tell which is the best.
struct Pair {
    Schedule schedule;
    Picked picked;
    double seconds = 0;
};

/// The variant of the first row that holds and does not refuse.
Picked pick_by_rows(const Problem& problem) {
    const auto quantities = quantities_of(problem);
    for (const auto& row : device_of(problem.target).rows_of("variant")) {
        const auto& variant = variant_named(problem.target, row.word);
        if (holds(row, quantities + variant.quantities(problem)) && refusal(variant, problem).empty()) return {&variant, &row};
    }
    throw SpecError(fmt::format("no variant for {} takes blocks of n = {}", to_string(problem.target), problem.spec.block));
}

/// With a variant that the caller names, it is that or none.
std::optional<Picked> pick(const Problem& problem, std::string_view pinned) {
    if (pinned == "auto") return pick_by_rows(problem);
    const auto& variant = variant_named(problem.target, pinned);
    if (!refusal(variant, problem).empty()) return std::nullopt;
    return Picked{&variant, nullptr};
}

/// Lengths of end chains, half as long from one level to the next.
std::vector<std::int64_t> halved(std::int64_t longest) {
    std::vector<std::int64_t> lengths;
    for (; longest > 1; longest /= 2) lengths.push_back(longest);
    return lengths;
}

/// Whether schedules with end chains are tried, by what takes the same levels without them.
bool tries_end_chains(const Problem& base, const Schedule& without, std::string_view pinned) {
    const Problem problem{base.spec, base.target, without, base.workers};
    const auto picked = pick(problem, pinned);
    const std::string variant(picked ? picked->variant->name : "");
    return device_of(base.target).take("flanked", quantities_of(problem) + Quantities{{"variant", variant}}) != 0;
}

/// The simplest orders first: a later one has to be faster.
std::vector<Schedule> candidates(const Problem& base, std::string_view pinned) {
    const auto horizon = base.spec.horizon;
    const bool on_cpu = base.target.backend == Backend::cpu;
    const auto most_chains = on_cpu ? base.workers : 2 * device_of(base.target).count("facts.multiprocessors");
    std::vector<Schedule> result{sequential(horizon)};
    for (std::int64_t chains = 2; chains <= std::min(most_chains, (horizon + 1) / 2); chains += std::max<std::int64_t>(1, chains / 4)) {
        result.push_back(twisted(horizon, chains));
        result.push_back(partitioned(horizon, chains));
    }
    if (most_chains == 1) return result;
    result.push_back(twisted(horizon, most_chains));
    result.push_back(partitioned(horizon, most_chains));
    result.push_back(multi_stage(horizon));
    if (tries_end_chains(base, result.back(), pinned))
        for (std::int64_t ends = 4; ends <= horizon / 6; ends *= 2)
            for (const auto longest : {ends, ends + ends / 2}) result.push_back(flanked(horizon, halved(longest)));
    for (std::int64_t length = 1; length < horizon; length += std::max<std::int64_t>(1, length / 4)) {
        result.push_back(recursive(horizon, length, length));
    }
    return result;
}

/// The pair of least modelled time, and the next best.
struct Best {
    Pair pair;
    std::string why;  ///< for people: what speaks for its schedule
};

/// Throws SpecError where the variant that the caller names refuses every schedule.
Best best_of(const Problem& base, std::vector<Schedule> schedules, std::string_view pinned) {
    constexpr double never = std::numeric_limits<double>::infinity();
    const bool is_only = schedules.size() == 1;
    std::vector<Pair> pairs;
    for (auto& schedule : schedules) {
        Problem problem{base.spec, base.target, std::move(schedule), base.workers};
        const auto picked = pick(problem, pinned);
        if (!picked) {
            if (pairs.empty() && &schedule == &schedules.back()) throw SpecError(refusal(variant_named(base.target, pinned), problem));
            continue;
        }
        const auto seconds = is_only ? 0 : picked->variant->seconds(problem);
        pairs.push_back({std::move(problem.schedule), *picked, seconds});
    }
    const Pair *first = nullptr, *second = nullptr;
    for (const auto& pair : pairs) {
        if (pair.seconds < (first == nullptr ? never : first->seconds)) {
            second = first;
            first = &pair;
        } else if (second == nullptr || pair.seconds < second->seconds) {
            second = &pair;
        }
    }
    if (first == nullptr) throw SpecError("no schedule has a modelled time; give one");
    if (is_only) return {*first, "the only one to take"};
    auto why = fmt::format("model, {:.1f} us", first->seconds * 1e6);
    if (second != nullptr)
        why += fmt::format(", next best {} with {}, {:.1f} us", second->schedule.name, second->picked.variant->name, second->seconds * 1e6);
    return {*first, why};
}

std::string reason_of(const Best& best, const Tuning& tuning) {
    const std::string caller = "pinned by the caller";
    const auto* row = best.pair.picked.row;
    return fmt::format("schedule: {}; variant: {}", tuning.schedule == "auto" ? best.why : caller,
                       row == nullptr ? caller : to_string(*row));
}

Best choose_pair(const Problem& base, std::string_view schedule, std::string_view variant) {
    auto schedules = schedule == "auto" ? candidates(base, variant) : std::vector{parse_schedule(schedule, base.spec.horizon)};
    return best_of(base, std::move(schedules), variant);
}

/// Mixed precision has no sweeps of their own: what they give would have the accuracy of f32.
Spec without_sweeps(Spec spec) {
    if (spec.precision != Precision::mixed) return spec;
    for (const auto operation : {Operation::forward, Operation::backward, Operation::factor_forward}) spec.operations.erase(operation);
    return spec;
}

}  // namespace

double modelled_seconds(const Schedule& schedule, const Spec& spec, const Target& target, std::int64_t workers) {
    const Problem problem{spec, target, schedule, workers};
    return pick_by_rows(problem).variant->seconds(problem);
}

Schedule choose_schedule(const Spec& spec, const Target& target, std::int64_t workers) {
    return choose_pair({spec, target, {}, workers}, "auto", "auto").pair.schedule;
}

Choice choose(const Spec& spec, const Target& target, const Tuning& tuning) {
    validate(spec);
    validate(target);
    if (target.backend == Backend::c99)
        throw SpecError(
            fmt::format("target '{}' has no kernels to generate; run trifold export, or give another target", to_string(target)));
    if (tuning.workers < 1 || tuning.workers > max_workers)
        throw SpecError(fmt::format("workers = {} is out of range; give 1 to {}", tuning.workers, max_workers));
    if (tuning.variant != "auto") variant_named(target, tuning.variant);
    Choice choice{without_sweeps(spec), target, tuning, {}, {}, {}};
    const auto best = choose_pair({inner_spec(choice.spec), target, {}, tuning.workers}, tuning.schedule, tuning.variant);
    choice.schedule = best.pair.schedule;
    choice.variant = best.pair.picked.variant->name;
    choice.reason = reason_of(best, tuning);
    return choice;
}

double modelled_seconds(const Choice& choice) {
    return variant_named(choice.target, choice.variant)
        .seconds({inner_spec(choice.spec), choice.target, choice.schedule, choice.tuning.workers});
}

}  // namespace trifold
