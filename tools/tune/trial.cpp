#include "tools/tune/trial.hpp"

#include <fmt/format.h>
#include <trifold/version.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "generator/program/sha256.hpp"
#include "generator/program/templates.hpp"
#include "tools/formats/file.hpp"
#include "tools/tune/family.hpp"

namespace trifold::tune {
namespace {

constexpr std::array<std::string_view, 9> verdicts{"sound", "refused",   "does_not_compile", "spilled",  "too_large",
                                                   "fails", "times_out", "inaccurate",       "disagrees"};

using Json = nlohmann::ordered_json;

template <class Record>
Json common_json(const Record& record, const Candidate& candidate) {
    return {{"device", record.machine.device},
            {"target", record.machine.target},
            {"driver", record.machine.driver},
            {"generator", record.generator},
            {"spec", record.point.spec},
            {"workers", record.point.workers},
            {"objective", to_string(record.point.objective)},
            {"schedule", candidate.schedule},
            {"variant", candidate.variant}};
}

/// JSON has no infinity and no NaN: both are written as null.
double number_of(const nlohmann::json& tree) { return tree.is_null() ? std::numeric_limits<double>::quiet_NaN() : tree.get<double>(); }

double time_of(const nlohmann::json& tree) {
    const auto seconds = number_of(tree);
    if (!std::isfinite(seconds) || seconds <= 0) throw formats::InputError(fmt::format("{} is no time in seconds above 0", tree.dump()));
    return seconds;
}

template <class Record>
Record common_of(const nlohmann::json& tree, Candidate Record::* candidate) {
    Record record;
    record.machine = {tree.at("device"), tree.at("target"), tree.at("driver")};
    parse_target(record.machine.target);
    record.generator = tree.at("generator");
    const auto& family = family_of(tree.at("spec"));
    record.point = {family.parse(tree.at("spec")), tree.at("workers"), parse_objective(tree.at("objective").get<std::string>())};
    ordered(record.point.objective, family);  // throws where it has none of a name
    record.*candidate = {tree.at("schedule"), tree.at("variant")};
    return record;
}

}  // namespace

std::string_view to_string(Verdict verdict) { return verdicts.at(static_cast<std::size_t>(verdict)); }

Verdict parse_verdict(std::string_view text) {
    const auto found = std::ranges::find(verdicts, text);
    if (found == verdicts.end()) throw formats::InputError(fmt::format("'{}' is no verdict of a trial", text));
    return static_cast<Verdict>(found - verdicts.begin());
}

double objective_seconds(const Trial& trial) {
    double seconds = 0;
    for (const auto& [operation, weight] : trial.point.objective) seconds += weight * trial.seconds.at(operation);
    return seconds;
}

nlohmann::ordered_json to_json(const Trial& trial) {
    auto tree = common_json(trial, trial.candidate);
    tree.update({{"is_default", trial.is_default},
                 {"round", trial.round},
                 {"verdict", to_string(trial.verdict)},
                 {"why", trial.why},
                 {"seconds", trial.seconds},
                 {"spread", trial.spread},
                 {"runs", trial.runs},
                 {"residual", trial.residual},
                 {"spill_bytes", trial.spill_bytes}});
    return tree;
}

Trial trial_of(const nlohmann::json& tree) {
    auto trial = common_of(tree, &Trial::candidate);
    trial.is_default = tree.at("is_default");
    trial.round = tree.at("round");
    trial.verdict = parse_verdict(tree.at("verdict").get<std::string>());
    trial.why = tree.at("why");
    for (const auto& [operation, seconds] : tree.at("seconds").items()) trial.seconds[operation] = time_of(seconds);
    for (const auto& [operation, weight] : trial.point.objective)
        if (trial.verdict == Verdict::sound && !trial.seconds.contains(operation))
            throw formats::InputError(fmt::format("it is sound, and has no seconds for {}", operation));
    trial.spread = number_of(tree.at("spread"));
    trial.runs = tree.at("runs");
    trial.residual = number_of(tree.at("residual"));
    trial.spill_bytes = tree.value("spill_bytes", std::int64_t{0});  // older lines say it of each kernel
    return trial;
}

nlohmann::ordered_json to_json(const Decision& decision) {
    auto tree = common_json(decision, decision.winner);
    tree.update({{"standard_schedule", decision.standard.schedule},
                 {"standard_variant", decision.standard.variant},
                 {"seconds", decision.seconds},
                 {"standard_seconds", decision.standard_seconds},
                 {"spread", decision.spread},
                 {"trials", decision.trials},
                 {"effort", decision.effort}});
    return tree;
}

Decision decision_of(const nlohmann::json& tree) {
    auto decision = common_of(tree, &Decision::winner);
    decision.standard = {tree.at("standard_schedule"), tree.at("standard_variant")};
    decision.seconds = time_of(tree.at("seconds"));
    decision.standard_seconds = time_of(tree.at("standard_seconds"));
    decision.spread = number_of(tree.at("spread"));
    decision.trials = tree.at("trials");
    decision.effort = tree.at("effort");
    return decision;
}

std::string generator_version() {
    static const auto version = [] {
        std::string all;
        for (const auto& name : template_names())
            if (!name.starts_with("export/") && !name.ends_with(".wisdom"))
                all += fmt::format("{} {} {}\n", name, template_text(name).size(), template_text(name));
        return fmt::format("{}.{}.{}-{}", TRIFOLD_VERSION_MAJOR, TRIFOLD_VERSION_MINOR, TRIFOLD_VERSION_PATCH, sha256(all).substr(0, 8));
    }();
    return version;
}

}  // namespace trifold::tune
