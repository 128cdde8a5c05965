#include "tools/bench/regret/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <trifold/error.hpp>

namespace trifold::regret {
namespace {

bool is_usable(const Record& record, const std::string& operation) {
    return record.failure.empty() && record.accurate && record.seconds.contains(operation);
}

std::string name_of(const Record& record) { return record.candidate.schedule + ", " + record.candidate.variant; }

const Record* find(const Measured& measured, const Chosen& chosen) {
    const auto found = std::ranges::find_if(measured.records, [&](const Record* record) {
        return record->candidate.schedule == chosen.schedule && record->candidate.variant == chosen.variant;
    });
    return found == measured.records.end() ? nullptr : *found;
}

/// In place of a choice that was not measured: the same variant where there is one, by its model.
const Record* stand_in(const Measured& measured, const Chosen& chosen, const std::string& operation) {
    const auto rank = [&](const Record* record) {
        return std::pair(record->candidate.variant != chosen.variant, modelled_now(*record, operation));
    };
    return *std::ranges::min_element(measured.records, {}, rank);
}

}  // namespace

std::vector<Measured> by_point(const std::vector<Record>& records, const std::string& operation) {
    std::vector<Measured> result;
    for (const auto& record : records) {
        if (!is_usable(record, operation)) continue;
        auto found = std::ranges::find_if(result, [&](const Measured& one) {
            return one.point == record.point && one.target == record.target && one.workers == record.workers;
        });
        if (found == result.end()) found = result.insert(found, {record.point, record.target, record.workers, {}});
        found->records.push_back(&record);
    }
    return result;
}

Chosen recorded_choice(const Measured& measured) {
    for (const auto* record : measured.records)
        if (record->candidate.is_auto) return {record->candidate.schedule, record->candidate.variant};
    return {};
}

Spec spec_of(const Point& point, const std::string& operation) {
    return spec_of(point, operation == "factor" ? Operations{Operation::factor} : Operations{Operation::factor, Operation::factor_solve});
}

Chosen choice_now(const Measured& measured, const std::string& operation) {
    const auto choice = choose(spec_of(measured.point, operation), parse_target(measured.target), {.workers = measured.workers});
    return {choice.schedule.name, choice.variant};
}

double modelled_now(const Record& record, const std::string& operation) {
    const auto& candidate = record.candidate;
    return modelled_seconds(
        choose(spec_of(record.point, operation), parse_target(record.target), {candidate.schedule, candidate.variant, record.workers}));
}

std::vector<Regret> regrets(const std::vector<Record>& records, const std::string& operation,
                            const std::function<Chosen(const Measured&)>& choose) {
    std::vector<Regret> result;
    for (const auto& measured : by_point(records, operation)) {
        const auto seconds = [&](const Record* record) { return record->seconds.at(operation); };
        const auto chosen = choose(measured);
        const auto* taken = find(measured, chosen);
        const bool stands_in = taken == nullptr;
        if (stands_in) taken = stand_in(measured, chosen, operation);
        const auto* best = *std::ranges::min_element(measured.records, {}, seconds);
        const auto name = stands_in ? fmt::format("{}, {}", chosen.schedule, chosen.variant) : name_of(*taken);
        result.push_back({measured.point, name, name_of(*best), seconds(taken), seconds(best), stands_in});
    }
    return result;
}

Totals totals_of(const std::vector<Regret>& regrets) {
    Totals totals{regrets.size()};
    double logarithms = 0;
    for (const auto& regret : regrets) {
        logarithms += std::log(regret.ratio());
        totals.largest = std::max(totals.largest, regret.ratio());
        totals.stand_ins += regret.stands_in ? 1 : 0;
    }
    if (!regrets.empty()) totals.geometric_mean = std::exp(logarithms / static_cast<double>(regrets.size()));
    return totals;
}

std::map<std::string, Fit> fits(const std::vector<Record>& records, const std::string& operation) {
    std::map<std::string, std::vector<double>> logarithms;
    for (const auto& record : records)
        if (is_usable(record, operation))
            logarithms[record.candidate.variant].push_back(std::log(record.seconds.at(operation) / modelled_now(record, operation)));
    std::map<std::string, Fit> result;
    for (const auto& [variant, values] : logarithms) {
        double sum = 0, squares = 0;
        for (const auto value : values) sum += value;
        const auto mean = sum / static_cast<double>(values.size());
        for (const auto value : values) squares += (value - mean) * (value - mean);
        result[variant] = {values.size(), std::exp(mean), std::exp(std::sqrt(squares / static_cast<double>(values.size())))};
    }
    return result;
}

}  // namespace trifold::regret
