#include <fmt/format.h>

#include <cmath>
#include <map>

#include "tools/trifold/text.hpp"
#include "tools/trifold/tune/verbs.hpp"
#include "tools/tune/keys.hpp"

namespace trifold::command {
namespace {

struct ShowOptions {
    RecordOptions records;
    bool failures = false;
};

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// The last decision about each point, in the order of the points' first ones.
std::vector<tune::DatedDecision> last_decisions(const tune::Database& database, const tune::RecordFilter& filter) {
    std::vector<tune::DatedDecision> result;
    std::map<std::string, std::size_t> places;
    for (auto& dated : database.dated_decisions()) {
        const auto& [machine, generator, point] = std::tie(dated.decision.machine, dated.decision.generator, dated.decision.point);
        if (!filter(machine, generator, point)) continue;
        const auto [place, is_first] = places.emplace(tune::record_key(machine, generator, point), result.size());
        if (is_first)
            result.push_back(std::move(dated));
        else
            result[place->second] = std::move(dated);
    }
    return result;
}

std::vector<tune::Trial> trials_of(const tune::Database& database, const tune::RecordFilter& filter, bool only_failures) {
    auto trials = database.all_trials();
    std::erase_if(trials, [&](const tune::Trial& trial) {
        return !filter(trial.machine, trial.generator, trial.point) || (only_failures && trial.verdict == tune::Verdict::sound);
    });
    return trials;
}

Json to_json(const tune::DatedDecision& dated) {
    auto json = tune::to_json(dated.decision);
    json["gain"] = dated.decision.gain();
    json["when"] = dated.when;
    return json;
}

Json to_json(const tune::Claim& claim) {
    return {{"device", claim.machine}, {"point", claim.point}, {"host", claim.owner.host}, {"process", claim.owner.pid}};
}

void show_failures(const std::vector<tune::Trial>& trials, bool json) {
    auto list = Json::array();
    std::vector<std::vector<std::string>> rows{{"point", "device", "schedule", "variant", "verdict", "why"}};
    for (const auto& trial : trials) {
        list.push_back(tune::to_json(trial));
        rows.push_back({to_string(trial.point), trial.machine.device, trial.candidate.schedule, trial.candidate.variant,
                        std::string(to_string(trial.verdict)), first_line(trial.why)});
    }
    if (json)
        print(Json{{"failures", list}});
    else
        print(trials.empty() ? "no failures\n" : table(rows));
}

std::string table_of(const std::vector<tune::DatedDecision>& decisions) {
    std::vector<std::vector<std::string>> rows{{"point", "device", "target", "winner", "time", "gain", "trials", "when"}};
    for (const auto& [when, decision] : decisions)
        rows.push_back(
            {to_string(decision.point), decision.machine.device, decision.machine.target,
             decision.winner.schedule + " " + decision.winner.variant + (decision.winner == decision.standard ? " (default)" : ""),
             seconds_text(decision.seconds), fmt::format("{:.2f}", decision.gain()), std::to_string(decision.trials), when});
    return table(rows);
}

std::string summary_of(const std::vector<tune::DatedDecision>& decisions, std::int64_t trials, std::int64_t failures) {
    double logarithms = 0;
    for (const auto& dated : decisions) logarithms += std::log(dated.decision.gain());
    const auto count = static_cast<std::int64_t>(decisions.size());
    const auto gain =
        count == 0 ? "" : fmt::format(", gain {:.3f} in the geometric mean", std::exp(logarithms / static_cast<double>(count)));
    return fmt::format("{} decided{}; {}, of which {} failed\n", plural(count, "point"), gain, plural(trials, "trial"), failures);
}

int show(const ShowOptions& options, bool json) {
    const tune::Database database(options.records.database(), tune::Database::Access::read);
    say_unreadable(database);
    const auto filter = options.records.filter();
    const auto failures = trials_of(database, filter, true);
    if (options.failures) {
        show_failures(failures, json);
        return 0;
    }
    const auto decisions = last_decisions(database, filter);
    const auto trials = static_cast<std::int64_t>(trials_of(database, filter, false).size());
    const auto claims = database.claims();
    if (!json) {
        print((decisions.empty() ? "" : table_of(decisions)) + summary_of(decisions, trials, static_cast<std::int64_t>(failures.size())));
        for (const auto& claim : claims)
            print(fmt::format("{} on {} is being tuned by process {} of {}\n", claim.point, claim.machine, claim.owner.pid,
                              claim.owner.host));
        return 0;
    }
    Json all{{"decisions", Json::array()}, {"trials", trials}, {"failures", failures.size()}, {"claims", Json::array()}};
    for (const auto& dated : decisions) all["decisions"].push_back(to_json(dated));
    for (const auto& claim : claims) all["claims"].push_back(to_json(claim));
    print(all);
    return 0;
}

}  // namespace

Action add_tune_show(CLI::App& app, const bool& json) {
    const auto options = std::make_shared<ShowOptions>();
    options->records.add_database(app);
    options->records.add_filters(app);
    app.add_flag("--failures", options->failures, "The trials that failed, and why");
    return [options, &json] { return show(*options, json); };
}

}  // namespace trifold::command
