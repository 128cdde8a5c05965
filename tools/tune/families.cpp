#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <trifold/error.hpp>

#include "tools/tune/family.hpp"

namespace trifold::tune {
namespace {

const TunedFamily& first_that(const auto& wanted, const std::string& what) {
    std::vector<std::string_view> names;
    for (const auto* family : families()) {
        if (wanted(*family)) return *family;
        names.push_back(family->name);
    }
    throw SpecError(fmt::format("{} is of no family that can be tuned; there are {}", what, fmt::join(names, ", ")));
}

}  // namespace

std::span<const TunedFamily* const> families() {
    static const std::vector<const TunedFamily*> all = registered_families();
    return all;
}

const TunedFamily& family_of(const nlohmann::json& spec) {
    if (!spec.is_object() || !spec.contains("family")) return *families().front();
    const auto& name = spec.at("family");
    return first_that([&](const TunedFamily& family) { return name == family.name; }, fmt::format("a spec of family {}", name.dump()));
}

const TunedFamily& family_of(const ProblemKey& key) {
    return first_that([&](const TunedFamily& family) { return family.owns(key); }, fmt::format("n = '{}'", key.kind));
}

Objective ordered(const Objective& objective, const TunedFamily& family) {
    Objective result;
    for (const auto operation : family.operations) {
        const auto found = std::ranges::find(objective, operation, &Objective::value_type::first);
        if (found != objective.end()) result.push_back(*found);
    }
    for (const auto& [operation, weight] : objective)
        if (std::ranges::find(family.operations, operation) == family.operations.end())
            throw SpecError(
                fmt::format("'{}' is no operation of {}; give some of {}", operation, family.name, fmt::join(family.operations, ", ")));
    return result;
}

bool has_operation(const nlohmann::json& spec, std::string_view name) {
    const auto& names = spec.at("operations");
    return std::find(names.begin(), names.end(), name) != names.end();
}

void check_key(const WisdomRow& row) { family_of(row.key).spec(row.key); }

std::string refusal_of(const WisdomRow& row) try {
    const auto& family = family_of(row.key);
    const Point point{.spec = family.spec(row.key), .workers = row.key.workers};
    family.complete(point, row.key.target, {row.pins.schedule, row.pins.variant});
    return {};
} catch (const SpecError& error) {
    return error.what();
}

WisdomRow row_of(const Decision& decision) {
    const auto driver = decision.machine.driver.empty() ? "" : fmt::format("driver {}; ", decision.machine.driver);
    return {.device = decision.machine.device,
            .key = family_of(decision.point).key(decision.point, parse_target(decision.machine.target)),
            .objective = to_string(decision.point.objective),
            .pins = {decision.winner.schedule, decision.winner.variant},
            .seconds = decision.seconds,
            .default_seconds = decision.standard_seconds,
            .measured = fmt::format("generator {}; {}effort {}; {} trials", decision.generator, driver, decision.effort, decision.trials)};
}

}  // namespace trifold::tune
