#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <trifold/cost.hpp>
#include <trifold/error.hpp>
#include <trifold/precision.hpp>

#include "generator/tridiagonal/mixed.hpp"
#include "generator/tridiagonal/variant.hpp"

namespace trifold {
namespace {

/// A variant, and the row that chose it; none: the caller did.
struct Picked {
    const Variant* variant = nullptr;
    const Row* row = nullptr;
};

/// The word of a row of `variant` that has all variants compared that do not refuse.
constexpr std::string_view fastest = "fastest";

/// A schedule with its variant. Rows and models tell which is the best.
struct Pair {
    Schedule schedule;
    Picked picked;
    double seconds = 0;
};

/// The variant of the first row that holds and does not refuse; or all that do not refuse.
std::vector<Picked> pick_by_rows(const Problem& problem) {
    const auto quantities = quantities_of(problem);
    std::vector<Picked> result;
    for (const auto& row : device_of(problem.target).rows_of("variant")) {
        if (row.word == fastest && holds(row, quantities)) {
            for (const auto* variant : variants_of(problem.target.backend))
                if (refusal(*variant, problem).empty()) result.push_back({variant, &row});
        } else if (row.word != fastest) {
            const auto& variant = variant_named(problem.target, row.word);
            if (holds(row, quantities + variant.quantities(problem)) && refusal(variant, problem).empty())
                result.push_back({&variant, &row});
        }
        if (!result.empty()) return result;
    }
    if (loads_ahead(problem.spec) && problem.target.backend == Backend::cpu)
        throw SpecError("no variant of CPUs overwrites D and E; leave load out of the operations");
    if (is_general(problem.spec) && problem.target.backend != Backend::cpu)
        throw SpecError(fmt::format(
            "no variant for {} takes general matrices with blocks of n = {} in schedule {}: a front does not fit in {} bytes of shared "
            "memory; solve them on a CPU",
            to_string(problem.target), problem.spec.block, problem.schedule.name,
            device_of(problem.target).count("facts.block_shared_bytes")));
    throw SpecError(fmt::format("no variant for {} takes blocks of n = {}", to_string(problem.target), problem.spec.block));
}

/// A variant that the caller names is the only one to take; the result is empty where it refuses.
std::vector<Picked> pick(const Problem& problem, std::string_view pinned) {
    if (pinned == "auto") return pick_by_rows(problem);
    const auto& variant = variant_named(problem.target, pinned);
    if (!refusal(variant, problem).empty()) return {};
    return {{&variant, nullptr}};
}

double seconds_of(const Variant& variant, const Problem& problem) { return variant.seconds(problem, device_of(problem.target)); }

/// Lengths of chains, half as long from one level to the next.
std::vector<std::int64_t> halved(std::int64_t longest) {
    std::vector<std::int64_t> lengths;
    for (; longest > 1; longest /= 2) lengths.push_back(longest);
    return lengths;
}

/// Whether schedules with end chains are tried. The variant that takes multi-stage decides.
bool tries_end_chains(const Problem& base, const Schedule& without, std::string_view pinned) {
    const Problem problem{base.spec, base.target, without, base.workers, base.knobs};
    const auto quantities = quantities_of(problem);
    return std::ranges::any_of(pick(problem, pinned), [&](const Picked& picked) {
        return device_of(base.target).take("flanked", quantities + Quantities{{"variant", std::string(picked.variant->name)}}) != 0;
    });
}

/// The own schedules of the first variant that is picked for some of them.
std::vector<Schedule> own_schedules(const Problem& base, std::string_view pinned) {
    for (const auto* variant : variants_of(base.target.backend)) {
        if (variant->schedules == nullptr) continue;
        auto own = variant->schedules(base);
        std::erase_if(own, [&](const Schedule& schedule) {
            const auto picked = pick({base.spec, base.target, schedule, base.workers, base.knobs}, pinned);
            return picked.empty() || picked.front().variant != variant;
        });
        if (!own.empty()) return own;
    }
    return {};
}

/// Schedules to compare, the simplest first: of equals the first is taken.
std::vector<Schedule> candidates(const Problem& base, std::string_view pinned) {
    const auto horizon = base.spec.horizon;
    const bool on_cpu = base.target.backend == Backend::cpu;
    if (auto own = own_schedules(base, pinned); !own.empty()) return own;
    const auto max_chains = on_cpu ? base.workers : 2 * device_of(base.target).count("facts.multiprocessors");
    const bool ring = base.spec.ring;
    std::vector<Schedule> result{sequential(horizon, ring)};
    for (std::int64_t chains = 2; chains <= std::min(max_chains, (horizon + 1) / 2); chains += std::max<std::int64_t>(1, chains / 4)) {
        if (!ring) result.push_back(twisted(horizon, chains));
        result.push_back(partitioned(horizon, chains, ring));
    }
    if (max_chains == 1) return result;
    if (!ring) result.push_back(twisted(horizon, max_chains));
    result.push_back(partitioned(horizon, max_chains, ring));
    result.push_back(multi_stage(horizon, ring));
    if (!ring && tries_end_chains(base, result.back(), pinned))
        for (std::int64_t ends = 4; ends <= horizon / 6; ends *= 2)
            for (const auto longest : {ends, ends + ends / 2}) result.push_back(flanked(horizon, halved(longest)));
    const bool tapers = device_of(base.target).take("tapered", quantities_of(base)) != 0;
    for (std::int64_t length = 1; length < horizon; length += std::max<std::int64_t>(1, length / 4)) {
        result.push_back(recursive(horizon, length, length, ring));
        if (const auto lengths = halved(length); tapers && lengths.size() > 1) result.push_back(segments(horizon, lengths, ring));
    }
    return result;
}

/// The pair with the least modelled time, and the next best where there is one.
struct Best {
    Pair pair;
    std::optional<Pair> second;
};

/// All pairs of these schedules that their variants take. Throws SpecError where the variant that the caller names refuses every schedule.
std::vector<Pair> pairs_of(const Problem& base, std::vector<Schedule> schedules, std::string_view pinned) {
    std::vector<Pair> pairs;
    for (auto& schedule : schedules) {
        const Problem problem{base.spec, base.target, std::move(schedule), base.workers, base.knobs};
        const auto picked = pick(problem, pinned);
        if (picked.empty() && pairs.empty() && &schedule == &schedules.back())
            throw SpecError(refusal(variant_named(base.target, pinned), problem));
        for (const auto& one : picked) pairs.push_back({problem.schedule, one});
    }
    if (pairs.size() > 1)  // else nothing is compared
        for (auto& pair : pairs)
            pair.seconds = seconds_of(*pair.picked.variant, {base.spec, base.target, pair.schedule, base.workers, base.knobs});
    return pairs;
}

/// The first of equal pairs counts as the best.
Best best_of(std::vector<Pair> pairs) {
    std::ranges::stable_sort(pairs, {}, &Pair::seconds);
    if (!std::isfinite(pairs.front().seconds)) throw SpecError("no schedule has a modelled time; give one");
    if (pairs.size() == 1) return {pairs.front(), {}};
    return {pairs.front(), pairs[1]};
}

std::string reason_of(const Best& best, const Tuning& tuning) {
    const std::string caller = "pinned by the caller";
    std::string model = "the only one to take";
    if (best.second)
        model = fmt::format("model, {:.1f} us, next best {} with {}, {:.1f} us", best.pair.seconds * 1e6, best.second->schedule.name,
                            best.second->picked.variant->name, best.second->seconds * 1e6);
    const auto* row = best.pair.picked.row;
    const auto variant = row == nullptr ? caller : row->word != fastest ? to_string(*row) : tuning.schedule == "auto" ? "the same" : model;
    return fmt::format("schedule: {}; variant: {}", tuning.schedule == "auto" ? model : caller, variant);
}

Best choose_pair(const Problem& base, std::string_view schedule, std::string_view variant) {
    auto schedules =
        schedule == "auto" ? candidates(base, variant) : std::vector{parse_schedule(schedule, base.spec.horizon, base.spec.ring)};
    return best_of(pairs_of(base, std::move(schedules), variant));
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
    auto least = std::numeric_limits<double>::infinity();
    for (const auto& picked : pick_by_rows(problem)) least = std::min(least, seconds_of(*picked.variant, problem));
    return least;
}

Schedule choose_schedule(const Spec& spec, const Target& target, std::int64_t workers) {
    return choose_pair({spec, target, {}, workers}, "auto", "auto").pair.schedule;
}

Choice choose(const Spec& spec, const Target& target, const Tuning& tuning) {
    validate(spec);
    validate(target);
    if (spec.border > 0) {
        auto chain = choose(chain_of(spec), target, tuning);
        chain.spec = spec;
        return chain;
    }
    if (target.backend == Backend::c99)
        throw SpecError(
            fmt::format("target '{}' has no kernels to generate; run trifold export, or give another target", to_string(target)));
    check_range("workers", tuning.workers, 1, max_workers);
    const auto asked = parse_variant(tuning.variant);
    if (asked.name != "auto") variant_named(target, tuning.variant);
    if (asked.name == "auto") check_knobs(asked, {});
    Choice choice{.spec = without_sweeps(spec), .target = target, .tuning = tuning, .schedule = {}, .variant = {}, .reason = {}, .row = {}};
    const auto best = choose_pair({kernel_spec(choice.spec, tuning.variant), target, {}, tuning.workers, {asked.pinned}}, tuning.schedule,
                                  tuning.variant);
    choice.schedule = best.pair.schedule;
    VariantName name{std::string(best.pair.picked.variant->name), asked.pinned};
    if (tuning.any_size) name.pinned.emplace(bake.name, 0);
    choice.variant = to_string(name);
    choice.reason = reason_of(best, tuning);
    choice.rung = tuning.schedule == "auto" && tuning.variant == "auto" ? DecisionSource::model : DecisionSource::pinned;
    return choice;
}

double modelled_seconds(const Choice& choice) {
    return seconds_of(variant_named(choice.target, choice.variant), {kernel_spec(choice.spec, choice.variant),
                                                                     choice.target,
                                                                     choice.schedule,
                                                                     choice.tuning.workers,
                                                                     {parse_variant(choice.variant).pinned}});
}

Operation modelled_operation(const Choice& choice) {
    return modelled_operation(Problem{kernel_spec(choice.spec, choice.variant), choice.target, choice.schedule, choice.tuning.workers});
}

}  // namespace trifold
