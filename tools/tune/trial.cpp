#include "tools/tune/trial.hpp"

#include <fmt/format.h>
#include <trifold/version.h>

#include <algorithm>
#include <array>
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

Json common_json(const Machine& machine, const std::string& generator, const Point& point) {
    return {{"device", machine.device},
            {"target", machine.target},
            {"driver", machine.driver},
            {"generator", generator},
            {"spec", point.spec},
            {"workers", point.workers},
            {"objective", to_string(point.objective)},
            {"weight", point.seconds}};
}

/// JSON has no infinity and no NaN: both are written as null.
double number_of(const Json& tree) { return tree.is_null() ? std::numeric_limits<double>::quiet_NaN() : tree.get<double>(); }

Machine machine_of(const Json& tree) { return {tree.at("device"), tree.at("target"), tree.at("driver")}; }

Point point_of(const Json& tree) {
    const nlohmann::json spec = tree.at("spec");
    const auto& family = family_of(spec);
    const auto objective = parse_objective(tree.at("objective").get<std::string>());
    ordered(objective, family);  // throws where it has none of a name
    return {family.parse(spec), tree.at("workers"), objective, tree.at("weight")};
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
    auto tree = common_json(trial.machine, trial.generator, trial.point);
    tree["schedule"] = trial.candidate.schedule;
    tree["variant"] = trial.candidate.variant;
    tree["modelled_seconds"] = trial.candidate.modelled_seconds;
    tree["is_default"] = trial.is_default;
    tree["round"] = trial.round;
    tree["verdict"] = to_string(trial.verdict);
    tree["why"] = trial.why;
    tree["seconds"] = trial.seconds;
    tree["spread"] = trial.spread;
    tree["runs"] = trial.runs;
    tree["residual"] = trial.residual;
    tree["kernels"] = trial.kernels;
    tree["took"] = trial.took;
    return tree;
}

Trial parse_trial(std::string_view line) {
    const auto tree = nlohmann::ordered_json::parse(line);
    Trial trial;
    trial.machine = machine_of(tree);
    trial.generator = tree.at("generator");
    trial.point = point_of(tree);
    trial.candidate = {tree.at("schedule"), tree.at("variant"), number_of(tree.at("modelled_seconds"))};
    trial.is_default = tree.at("is_default");
    trial.round = tree.at("round");
    trial.verdict = parse_verdict(tree.at("verdict").get<std::string>());
    trial.why = tree.at("why");
    for (const auto& [operation, seconds] : tree.at("seconds").get<std::map<std::string, Json>>())
        trial.seconds[operation] = number_of(seconds);
    trial.spread = number_of(tree.at("spread"));
    trial.runs = tree.at("runs");
    trial.residual = number_of(tree.at("residual"));
    trial.kernels = tree.at("kernels");
    trial.took = number_of(tree.at("took"));
    return trial;
}

nlohmann::ordered_json to_json(const Decision& decision) {
    auto tree = common_json(decision.machine, decision.generator, decision.point);
    tree["schedule"] = decision.winner.schedule;
    tree["variant"] = decision.winner.variant;
    tree["modelled_seconds"] = decision.winner.modelled_seconds;
    tree["standard_schedule"] = decision.standard.schedule;
    tree["standard_variant"] = decision.standard.variant;
    tree["standard_modelled_seconds"] = decision.standard.modelled_seconds;
    tree["seconds"] = decision.seconds;
    tree["standard_seconds"] = decision.standard_seconds;
    tree["spread"] = decision.spread;
    tree["trials"] = decision.trials;
    tree["effort"] = decision.effort;
    return tree;
}

Decision parse_decision(std::string_view line) {
    const auto tree = nlohmann::ordered_json::parse(line);
    Decision decision;
    decision.machine = machine_of(tree);
    decision.generator = tree.at("generator");
    decision.point = point_of(tree);
    decision.winner = {tree.at("schedule"), tree.at("variant"), number_of(tree.at("modelled_seconds"))};
    decision.standard = {tree.at("standard_schedule"), tree.at("standard_variant"), number_of(tree.at("standard_modelled_seconds"))};
    decision.seconds = tree.at("seconds");
    decision.standard_seconds = tree.at("standard_seconds");
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
