#include "tools/tune/trial.hpp"

#include <fmt/format.h>
#include <trifold/version.h>

#include <algorithm>
#include <array>

#include "generator/program/sha256.hpp"
#include "generator/program/templates.hpp"
#include "generator/tridiagonal/spec_json.hpp"
#include "tools/formats/file.hpp"

namespace trifold::tune {
namespace {

constexpr std::array<std::string_view, 9> verdicts{"sound", "refused",   "does_not_compile", "spilled",  "too_large",
                                                   "fails", "times_out", "inaccurate",       "disagrees"};

}  // namespace

std::string_view to_string(Verdict verdict) { return verdicts.at(static_cast<std::size_t>(verdict)); }

Verdict parse_verdict(std::string_view text) {
    const auto found = std::ranges::find(verdicts, text);
    if (found == verdicts.end()) throw formats::InputError(fmt::format("'{}' is no verdict of a trial", text));
    return static_cast<Verdict>(found - verdicts.begin());
}

double objective_seconds(const Trial& trial) {
    double seconds = 0;
    for (const auto& [operation, weight] : trial.point.objective) seconds += weight * trial.seconds.at(std::string(to_string(operation)));
    return seconds;
}

nlohmann::ordered_json to_json(const Trial& trial) {
    return {{"device", trial.machine.device},
            {"target", trial.machine.target},
            {"driver", trial.machine.driver},
            {"generator", trial.generator},
            {"spec", to_json(trial.point.spec)},
            {"workers", trial.point.workers},
            {"objective", to_string(trial.point.objective)},
            {"weight", trial.point.seconds},
            {"schedule", trial.candidate.schedule},
            {"variant", trial.candidate.variant},
            {"modelled_seconds", trial.candidate.modelled_seconds},
            {"is_default", trial.is_default},
            {"round", trial.round},
            {"verdict", to_string(trial.verdict)},
            {"why", trial.why},
            {"seconds", trial.seconds},
            {"spread", trial.spread},
            {"runs", trial.runs},
            {"residual", trial.residual},
            {"kernels", trial.kernels},
            {"took", trial.took}};
}

Trial parse_trial(std::string_view line) {
    const auto tree = nlohmann::ordered_json::parse(line);
    Trial trial;
    trial.machine = {tree.at("device"), tree.at("target"), tree.at("driver")};
    trial.generator = tree.at("generator");
    trial.point = {parse_spec_json(nlohmann::json(tree.at("spec"))), tree.at("workers"),
                   parse_objective(tree.at("objective").get<std::string>()), tree.at("weight")};
    trial.candidate = {tree.at("schedule"), tree.at("variant"), tree.at("modelled_seconds")};
    trial.is_default = tree.at("is_default");
    trial.round = tree.at("round");
    trial.verdict = parse_verdict(tree.at("verdict").get<std::string>());
    trial.why = tree.at("why");
    trial.seconds = tree.at("seconds").get<std::map<std::string, double>>();
    trial.spread = tree.at("spread");
    trial.runs = tree.at("runs");
    trial.residual = tree.at("residual");
    trial.kernels = tree.at("kernels");
    trial.took = tree.at("took");
    return trial;
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
